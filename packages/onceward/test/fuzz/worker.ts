import { parentPort, workerData } from 'node:worker_threads'
import { explore } from './explore.ts'
import { currentHead, type Job } from './job.ts'
import { shrink } from './shrink.ts'
import type { Target } from './target.ts'
import { findTarget } from './targets/index.ts'

const brokenMax = 5

async function main({ target: name, inputs, seed, current }: Job): Promise<void> {
  const target = await findTarget(name)
  const head = new Uint32Array(current, 0, 2)
  const shown = new Uint8Array(current, currentHead)
  const known = new Set<string>()
  const report = await explore(target, {
    inputs,
    seed,
    beforeInput(input) {
      head[1] = Math.min(input.length, shown.length)
      shown.set(input.subarray(0, shown.length))
      Atomics.add(head, 0, 1)
    },
    async onBroken(input, error) {
      const kind = kindOf(error)
      if (known.has(kind) || known.size >= brokenMax) return
      known.add(kind)
      const smallest = await shrink(input, async one => (await errorOf(target, one)) === kind)
      const text = String((error as Error)?.stack ?? error)
      parentPort!.postMessage({ broken: Buffer.from(smallest), error: text })
    },
  })
  parentPort!.postMessage({ report })
}

async function errorOf(target: Target, input: Buffer): Promise<string | null> {
  try {
    await target.check(input)
    return null
  } catch (error) {
    return kindOf(error)
  }
}

/** Two errors of one kind are one finding: by name and place, because texts repeat the input. */
function kindOf(error: unknown): string {
  const { name, stack = '' } = error as Error
  return `${name} ${stack.split('\n').find(line => line.trim().startsWith('at ')) ?? ''}`
}

await main(workerData as Job)
