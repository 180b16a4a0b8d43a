import assert from 'node:assert/strict'
import { park, retryAfter } from '../../engine/batch/verdicts.ts'
import { until } from '../until.ts'
import type { ConformanceCase } from './conformance-case.ts'
import type { DeliveryFeature } from './delivery.ts'
import type { DeliveryBench, JobContext } from './delivery-bench.ts'
import { assertBare, assertHeaders, namedLikeInherited, nestedPrototypes } from './hostile-headers.ts'

type Cases = readonly ConformanceCase<DeliveryBench<unknown>, DeliveryFeature>[]

const hostile = { body: Buffer.from('{"id":"hostile"}') }
const good = { body: Buffer.from('{"id":"good"}') }

/** Hostile headers through the whole engine. */
export const deliveryHostileCases: Cases = [
  {
    name: 'headers named like what objects inherit are read, digested and shown to the handler',
    needs: ['header names'],
    async run(bench) {
      let seen: JobContext['envelope'] | null = null
      await bench.publishRaw({ ...hostile, headers: namedLikeInherited }, good)
      await bench.start({
        message: { digestHeaders: Object.keys(namedLikeInherited) },
        async handle({ message, envelope, tx }: JobContext) {
          if (message.id === 'hostile') seen = envelope
          return bench.apply(tx, message.id)
        },
      })
      await bench.finish(2)
      assertHeaders(seen!.headers, namedLikeInherited)
      assertBare(seen!.properties, 'properties')
      bench.expectEnded({ applied: 2 })
    },
  },
  {
    name: 'nested headers named __proto__ are digested: neither they nor those behind them stop the consumer',
    needs: ['nested headers'],
    async run(bench) {
      await bench.publishRaw({ ...hostile, headers: nestedPrototypes }, good)
      await bench.start({ message: { digestHeaders: ['deep', '__proto__'] } })
      await bench.finish(2)
      bench.expectEnded({ applied: 2 })
    },
  },
  {
    name: 'a message that is kept and tried again has the headers it came with',
    needs: ['header names', 'held work'],
    async run(bench) {
      const headers: JobContext['envelope']['headers'][] = []
      await bench.publishRaw({ ...hostile, headers: namedLikeInherited })
      await bench.start({
        failure: { mode: 'defer', attemptsMax: 5, delayMs: 1, delayMaxMs: 1 },
        async handle({ message, envelope, tx }: JobContext) {
          headers.push(envelope.headers)
          return headers.length === 1 ? retryAfter(1) : bench.apply(tx, message.id)
        },
      })
      await until('it is applied', async () => (await bench.applied()).length === 1)
      for (const seen of headers) assertHeaders(seen, namedLikeInherited)
      await bench.drain()
    },
  },
  {
    name: 'an identity function that throws quarantines one message and affects no other',
    async run(bench) {
      await bench.publishRaw(hostile, good)
      await bench.start({
        identity: {
          id(job) {
            if (job.id === 'hostile') throw Object.create(null)
            return job.id
          },
        },
      })
      await bench.finish(2)
      bench.expectEnded({ applied: 1, quarantined: 1 })
      assert.equal((await bench.held())[0]!.code, 'id_missing')
    },
  },
  {
    name: 'a parked message keeps the headers it came with',
    needs: ['nested headers'],
    async run(bench) {
      await bench.publishRaw({ ...hostile, headers: nestedPrototypes }, good)
      await bench.start({
        handle: ({ message, tx }: JobContext) =>
          message.id === 'hostile' ? park('look at it') : bench.apply(tx, message.id),
      })
      await bench.finish(2)
      bench.expectEnded({ applied: 1, parked: 1 })
    },
  },
]
