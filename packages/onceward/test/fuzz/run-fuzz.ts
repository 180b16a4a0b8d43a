import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Exploration } from './explore.ts'
import { currentHead, type Job } from './job.ts'
import { inputsOf } from './targets/index.ts'

export interface Finding {
  readonly target: string
  readonly kind: 'crash' | 'hang'
  readonly file: string
  readonly error: string
}

export interface FuzzOptions {
  readonly seed: number
  /** Of all targets together. */
  readonly inputs: number
  /** Where findings are written. */
  readonly folder: string
  readonly hangMs?: number
  readonly heapMiB?: number
  readonly log?: (line: string) => void
}

export interface FuzzReport {
  readonly inputs: number
  readonly findings: readonly Finding[]
  readonly byTarget: Readonly<Record<string, Exploration>>
}

const inputBytesMax = 64 * 1024

/** Runs each target in a thread of its own, which ends when an input takes too long or too much memory. */
export async function runFuzz(targets: readonly string[], options: FuzzOptions): Promise<FuzzReport> {
  const findings: Finding[] = []
  const byTarget: Record<string, Exploration> = {}
  for (const target of targets) {
    const report = await runTarget(
      target,
      { ...options, inputs: inputsOf(target, options.inputs, targets) },
      findings,
    )
    if (report === null) continue
    byTarget[target] = report
    const { inputs, corpus, reached, slowestMs } = report
    options.log?.(
      `${target}: ${inputs} inputs, ${corpus} kept, ${reached} characters reached, slowest ${slowestMs} ms`,
    )
  }
  const inputs = Object.values(byTarget).reduce((sum, report) => sum + report.inputs, 0)
  return { inputs, findings, byTarget }
}

/** Null when the thread did not end by itself. */
async function runTarget(
  target: string,
  { seed, inputs, folder, hangMs = 10_000, heapMiB = 768, log }: FuzzOptions,
  findings: Finding[],
): Promise<Exploration | null> {
  const current = new SharedArrayBuffer(currentHead + inputBytesMax)
  const workerData: Job = { target, inputs, seed, current }
  const worker = new Worker(new URL('./worker.ts', import.meta.url), {
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: heapMiB },
  })
  const found = (kind: Finding['kind'], input: Uint8Array, error: string) => {
    const file = write(folder, target, input)
    findings.push({ target, kind, file, error })
    log?.(
      `${kind} of ${target}: ${error.split('\n')[0]}\n  again: npm run fuzz -- --target "${target}" --input ${file}`,
    )
  }
  let isEnding = false
  const stop = watch(current, hangMs, () => {
    isEnding = true
    found('hang', currentInput(current), `it takes more than ${hangMs} ms of processor time`)
    void worker.terminate()
  })
  const report = await new Promise<Exploration | null>(resolve => {
    worker.on('message', ({ broken, error, report: done }) => {
      isEnding ||= done !== undefined
      if (done !== undefined) resolve(done as Exploration)
      else found('crash', broken, error)
    })
    worker.on('error', error => {
      isEnding = true
      found('crash', currentInput(current), String(error))
      resolve(null)
    })
    worker.on('exit', code => {
      if (!isEnding) found('crash', currentInput(current), `the thread ended with code ${code}`)
      resolve(null)
    })
  })
  stop()
  await worker.terminate()
  return report
}

/**
 * Watches by processor time: on a machine that stops this process for seconds, an input is not blamed for
 * that.
 */
function watch(current: SharedArrayBuffer, hangMs: number, onHang: () => void): () => void {
  const head = new Uint32Array(current, 0, 1)
  let count = -1
  let since = process.cpuUsage()
  const timer = setInterval(() => {
    const now = Atomics.load(head, 0)
    if (now !== count) {
      count = now
      since = process.cpuUsage()
      return
    }
    const { user, system } = process.cpuUsage(since)
    if (now === 0 || (user + system) / 1_000 < hangMs) return
    clearInterval(timer)
    onHang()
  }, 250)
  return () => clearInterval(timer)
}

function currentInput(current: SharedArrayBuffer): Uint8Array {
  const [, length] = new Uint32Array(current, 0, 2)
  return new Uint8Array(current, currentHead, length).slice()
}

function write(folder: string, target: string, input: Uint8Array): string {
  mkdirSync(folder, { recursive: true })
  const digest = createHash('sha256').update(input).digest('hex').slice(0, 12)
  const file = join(folder, `${target.replaceAll(/[^a-z0-9]+/g, '-')}-${digest}`)
  writeFileSync(file, input)
  return file
}
