import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { TopicOptions } from '../../src/drivers/kafka/topic.ts'
import { until } from '../../src/testing/until.ts'

export interface MemberProcess {
  readonly lines: { readonly kind: string; readonly [fact: string]: unknown }[]
  /** Positions it received. */
  positions(): string[]
  owned(): string[]
  untilOwns(count: number): Promise<void>
  untilGot(count: number): Promise<void>
  /** Asks it to look at what it holds and to settle it; answers with what it found, once it runs. */
  look(): Promise<{ live: number; missed: number; held: number }>
  ask(order: 'look' | 'close'): void
  signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void
  readonly gone: Promise<unknown>
}

export function startMember(
  t: TestContext,
  orders: { bootstrap: string; topic: string; options: TopicOptions; settles: boolean },
): MemberProcess {
  const script = fileURLToPath(new URL('./member-process.ts', import.meta.url))
  const child: ChildProcess = spawn(
    process.execPath,
    ['--conditions=@onceward/source', script, JSON.stringify(orders)],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  )
  const lines: MemberProcess['lines'] = []
  createInterface({ input: child.stdout! }).on('line', line => lines.push(JSON.parse(line)))
  const gone = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGKILL')
    await gone
  })
  const positions = () =>
    lines
      .flatMap(line => (line.kind === 'got' ? (line.records as string[]) : []))
      .map(one => one.split(' ')[0]!)
  const owned = () => {
    const held = new Set<string>()
    for (const { kind, partitions } of lines) {
      if (kind === 'assigned') for (const one of partitions as string[]) held.add(one)
      if (kind === 'revoked') for (const one of partitions as string[]) held.delete(one)
    }
    return [...held].sort()
  }
  const ask = (order: string) => void child.stdin!.write(`${order}\n`)
  return {
    lines,
    positions,
    owned,
    untilOwns: count => until(`the process owns ${count} partitions`, () => owned().length === count),
    untilGot: count => until(`the process got ${count} records`, () => positions().length >= count),
    look: async () => {
      const before = lines.filter(({ kind }) => kind === 'looked').length
      ask('look')
      const looked = () => lines.filter(({ kind }) => kind === 'looked')
      await until('the process has looked', () => looked().length > before)
      return looked().at(-1) as unknown as { live: number; missed: number; held: number }
    },
    ask,
    signal: name => void child.kill(name),
    gone,
  }
}
