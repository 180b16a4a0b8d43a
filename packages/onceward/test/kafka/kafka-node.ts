import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { classpath, kafkaAnswers, shortLived } from '../../../../scripts/services/kafka.ts'
import { until } from '../../src/testing/until.ts'

/** One server process of a test's own, on formatted data. */
export interface KafkaNode {
  /** Resolves when it answers as a broker. */
  start(): Promise<void>
  /** kill -9; resolves when it is gone. */
  kill(): Promise<void>
  /** SIGTERM: it hands its leaderships over before it exits. Resolves when it is gone. */
  stop(): Promise<void>
  /** SIGSTOP: the kernel still accepts connections, nobody answers. */
  freeze(): void
  resume(): void
  readonly isRunning: boolean
  /** Kills it. */
  close(): Promise<void>
}

export interface KafkaNodeOptions {
  /** Its server.properties. */
  readonly file: string
  /** Where its log file goes. */
  readonly folder: string
  /** Of the PLAINTEXT listener. */
  readonly port: number
}

export function kafkaNode(java: string, { file, folder, port }: KafkaNodeOptions): KafkaNode {
  let server: ChildProcess | null = null
  const logFile = join(folder, 'server.log')
  const start = async () => {
    const log = openSync(logFile, 'a')
    const args = ['-Xmx384m', ...shortLived, '-cp', classpath(), 'kafka.Kafka', file]
    const started = spawn(java, args, { stdio: ['ignore', log, log] })
    server = started
    await until(
      'the private broker answers',
      async () => {
        if (started.exitCode !== null)
          throw new Error(`it exited:\n${readFileSync(logFile, 'utf8').slice(-2_000)}`)
        return kafkaAnswers(port)
      },
      { deadlineMs: 300_000 },
    )
  }
  const end = async (signal: 'SIGKILL' | 'SIGTERM') => {
    const ended = server
    server = null
    if (ended === null || ended.exitCode !== null || ended.signalCode !== null) return
    const gone = once(ended, 'exit')
    ended.kill(signal)
    await gone
  }
  /** Not even a test that ends in an uncaught error leaves a broker behind. */
  const onExit = () => server?.kill('SIGKILL')
  process.on('exit', onExit)
  return {
    start,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    freeze: () => void server?.kill('SIGSTOP'),
    resume: () => void server?.kill('SIGCONT'),
    get isRunning() {
      return server !== null
    },
    close: async () => {
      process.off('exit', onExit)
      await end('SIGKILL')
    },
  }
}

export const toText = (properties: Readonly<Record<string, string>>) =>
  Object.entries(properties)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
