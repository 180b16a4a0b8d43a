import type { ConformanceCase } from './conformance-case.ts'
import type { Attempt, HandleBench } from './handle-bench.ts'

type Cases = readonly ConformanceCase<HandleBench, 'row streams'>[]

const no = () => Promise.reject(new Error('no'))

/** Three writes at once: a library may send them one after the other. */
const writes = (bench: HandleBench, { tx }: Attempt) => [1, 2, 3].map(n => bench.apply(tx, `half ${n}`))

const failing = (
  name: string,
  fails: (bench: HandleBench, attempt: Attempt) => Promise<unknown>,
): Cases[number] => ({
  name,
  async run(bench) {
    await bench.start(attempt => fails(bench, attempt))
    await bench.expectOnce()
  },
})

/** A handler that fails while its statements wait or run leaves none of them behind. */
export const handleFailureCases: Cases = [
  failing('Promise.all that a check rejects at once', (bench, attempt) =>
    Promise.all([...writes(bench, attempt), no()]),
  ),
  failing('Promise.all that a check rejects when the first write is answered', (bench, attempt) => {
    const [first, ...rest] = writes(bench, attempt)
    return Promise.all([first, ...rest, first!.then(no)])
  }),
  failing('Promise.all that a statement rejects in the middle', (bench, attempt) =>
    Promise.all([...writes(bench, attempt), bench.under.fail(attempt.tx), ...writes(bench, attempt)]),
  ),
  failing('Promise.all that rejects while a statement runs for long', (bench, attempt) =>
    Promise.all([bench.under.pause(attempt.tx, 400), ...writes(bench, attempt), no()]),
  ),
  failing('Promise.allSettled around a statement that fails', async (bench, attempt) => {
    await Promise.allSettled([
      ...writes(bench, attempt),
      bench.under.fail(attempt.tx),
      ...writes(bench, attempt),
    ])
    return no()
  }),
  failing('Promise.allSettled that is not awaited', (bench, attempt) => {
    void Promise.allSettled([...writes(bench, attempt), bench.under.pause(attempt.tx, 200)])
    return no()
  }),
  failing('a race with a time-out that rejects', (bench, attempt) =>
    Promise.race([
      Promise.all([bench.under.pause(attempt.tx, 1_000), ...writes(bench, attempt)]),
      new Promise((_resolve, reject) => setTimeout(reject, 50, new Error('too slow'))),
    ]),
  ),
  failing('a race with a time-out after which the handler returns', (bench, attempt) =>
    Promise.race([
      Promise.all([bench.under.pause(attempt.tx, 400), ...writes(bench, attempt)]),
      new Promise(resolve => setTimeout(resolve, 50)),
    ]),
  ),
]
