import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { classpath, installKafka, shortLived } from '../../../../scripts/services/kafka.ts'

/** Kafka's own console consumer, cooperative-sticky, in the same group as ours. */
export interface JavaConsumer {
  readonly seen: string[]
  /** As on ctrl-c: it leaves the group. */
  stop(): Promise<void>
}

export async function startJavaConsumer(
  t: TestContext,
  options: { bootstrap: string; topic: string; group: string; protocol: 'classic' | 'consumer' },
): Promise<JavaConsumer> {
  const java = await installKafka(line => console.error(line))
  const classic = [
    '--command-property',
    'partition.assignment.strategy=org.apache.kafka.clients.consumer.CooperativeStickyAssignor',
    '--command-property',
    'session.timeout.ms=6000',
  ]
  const child = spawn(
    java,
    [
      ...[
        '-Xmx128m',
        ...shortLived,
        '-Dorg.slf4j.simpleLogger.defaultLogLevel=error',
        '-cp',
        classpath(),
        'org.apache.kafka.tools.consumer.ConsoleConsumer',
      ],
      ...['--bootstrap-server', options.bootstrap, '--topic', options.topic, '--group', options.group],
      ...['--command-property', 'auto.offset.reset=earliest'],
      ...['--command-property', `group.protocol=${options.protocol}`],
      ...['--command-property', 'auto.commit.interval.ms=100'],
      ...(options.protocol === 'classic' ? classic : []),
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const seen: string[] = []
  createInterface({ input: child.stdout }).on('line', line => seen.push(line))
  const gone = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGKILL')
    await gone
  })
  return {
    seen,
    stop: async () => {
      child.kill('SIGTERM')
      await gone
    },
  }
}
