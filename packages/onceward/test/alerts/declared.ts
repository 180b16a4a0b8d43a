import { topic } from '../../src/drivers/kafka/index.ts'
import { queue } from '../../src/drivers/rabbitmq/index.ts'
import { defineConsumer, projection } from '../../src/index.ts'
import type { Declared } from '../../src/telemetry/alerts/alert-rules.ts'

const gateway = { kind: 'http' as const, url: 'https://gateway.example/captures', policy: 'keyed' as const }

/** Everything an alert may be about: a log, stored work, versions, calls, messages, retention, redeliveries. */
export const everything: Declared = {
  file: 'payment-capture.ts',
  consumer: redelivering({
    name: 'payment_capture',
    owner: 'payments',
    producer: 'checkout',
    risk: 'money',
    source: topic('captures'),
    identity: { id: { header: 'id' } },
    inbox: { mode: 'stored' },
    failure: { deadLetter: { to: 'captures.dead', owner: 'payments-desk' } },
    objectives: { setAsideMax: 2 },
    retention: { markers: '7y', sourceKeeps: '7d' },
    effect: {
      apply: projection({
        table: 'capture',
        key: { id: 'id' },
        version: { version: 'version' },
        columns: { state: 'state' },
        gap: 'accept latest',
      }),
      external: { gateway },
      publish: { captured: { broker: 'rabbitmq', queue: 'captured' } },
    },
  }),
}

/** No source both is a log and counts deliveries. */
function redelivering(contract: Parameters<typeof defineConsumer>[0]): Declared['consumer'] {
  const consumer = defineConsumer(contract) as Declared['consumer']
  const redelivery = { countMax: 5, action: 'isolated' } as const
  return { ...consumer, failure: { ...consumer.failure, redelivery } }
}

/** A consumer with nothing but the spine. */
export const plain: Declared = {
  file: 'views.ts',
  consumer: defineConsumer({
    name: 'views',
    owner: 'web',
    risk: 'telemetry',
    source: queue('views'),
    identity: { id: { header: 'id' } },
    objectives: { idleMax: '10m', applyP99Max: '2m' },
    handle: () => {},
  }) as Declared['consumer'],
}

/** Names a contract would refuse and texts it would not, all of them hostile. */
export const hostile: Declared = {
  file: `we're {{ .Labels }} "here".ts`,
  consumer: {
    ...everything.consumer,
    name: 'x"} or vector(1) #\\\n{{ $value }}',
    owner: `pay "x" {{ .Labels }} {}} : [&a *a] \u0007\u001b[31m # '\u2028\u202e\u{1f600}\ud800`,
    producer: '{{ define "x" }}',
  },
}
