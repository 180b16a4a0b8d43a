import assert from 'node:assert/strict'
import type { ConformanceCase } from './conformance-case.ts'
import { assertBare, assertHeaders, namedLikeInherited, nestedPrototypes } from './hostile-headers.ts'
import type { SourceFeature } from './source.ts'
import { receiveCount, type SourceBench, texts } from './source-bench.ts'

/** Any producer chooses the names of headers. */
export const sourceHostileCases: readonly ConformanceCase<SourceBench, SourceFeature>[] = [
  {
    name: 'headers and properties have no prototype, with headers and without',
    async run(bench) {
      await bench.publish('bare')
      const [delivery] = await receiveCount(await bench.open(), 1)
      assertBare(delivery!.headers, 'headers')
      assertBare(delivery!.properties, 'properties')
    },
  },
  {
    name: 'a header named like what every object inherits is a header like others',
    needs: ['header names'],
    async run(bench) {
      const body = Buffer.from('x')
      await bench.publish({ body, headers: namedLikeInherited, properties: { messageId: 'm-1' } })
      const [delivery] = await receiveCount(await bench.open(), 1)
      assertHeaders(delivery!.headers, namedLikeInherited)
      assertBare(delivery!.properties, 'properties')
      assert.equal(delivery!.properties.messageId, 'm-1')
    },
  },
  {
    name: 'a nested header named __proto__ changes no table, and the messages behind it are delivered',
    needs: ['nested headers'],
    async run(bench) {
      await bench.publish({ body: Buffer.from('nested'), headers: nestedPrototypes }, 'behind it')
      const received = await receiveCount(await bench.open(), 2)
      assert.deepEqual(texts(received).sort(), ['behind it', 'nested'])
      const nested = received.find(({ body }) => body.toString() === 'nested')!
      assertHeaders(nested.headers, nestedPrototypes)
      assert.equal(nested.headers.tenant, undefined, 'a header was found that was never sent')
    },
  },
]
