import { randomBytes } from 'node:crypto'
import { createPostgresStore } from 'onceward/postgres'
import type { PublishedMessage, RangeReaderFactory } from 'onceward/testing'
import { HeldRangeReader } from '../../src/drivers/postgres/campaign/held-range-reader.ts'
import { toStoredJson } from '../../src/message/stored-json.ts'
import { conclusionOf, factsOf, heldOf } from '../../src/testing/conformance/store-bench.ts'
import type { Database } from './postgres.ts'

/** Parked rows of one consumer, oldest first. */
export function heldRanges({ unavailable, first, outside }: Database): RangeReaderFactory {
  return {
    unavailable,
    without: { edges: 'a campaign on held rows takes all of them' },
    async create() {
      const name = `held_${randomBytes(6).toString('hex')}`
      const store = createPostgresStore({ pool: first })
      const enrolment = await store.enroll(factsOf(name))
      const park = ({ body, headers = {}, properties = {}, key = null }: PublishedMessage) =>
        store.transaction(enrolment, session =>
          session.conclude([
            conclusionOf(randomBytes(6).toString('hex'), 'parked', {
              claimed: false,
              held: heldOf('parked', {
                body,
                brokerKey: key,
                headers: toStoredJson(headers),
                properties: toStoredJson(properties),
              }),
            }),
          ]),
        )
      return {
        partitions: ['held'],
        openReader: () => new HeldRangeReader(outside, { name, generation: 1 }, ['parked']),
        async publish(messages) {
          for (const message of messages) await park(message)
        },
        close: () => store.closeRun(enrolment),
      }
    },
  }
}
