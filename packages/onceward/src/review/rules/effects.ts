import type { Consumer } from '../../contract/define-consumer.ts'
import { durationText } from '../../contract/duration.ts'
import type { ExternalTarget } from '../../contract/external-target.ts'
import { isGrave } from '../../contract/failure-rules.ts'
import { withDefaults } from '../../contract/options/defaults.ts'
import type { Rule } from '../rule.ts'

const targetsOf = ({ effect }: Consumer) => Object.entries(effect?.external ?? {})

/** What all attempts of a call take at most, by the target's own numbers or our defaults. */
function callHorizonMs(target: ExternalTarget): number {
  const { attemptsMax, timeoutMs, retryDelayMs, retryDelayMaxMs } = withDefaults('effect.external.*', target)
  let ms = 0
  for (let attempt = 0; attempt < attemptsMax; attempt++)
    ms += timeoutMs + Math.min(retryDelayMs * 2 ** Math.min(attempt, 40), retryDelayMaxMs)
  return ms
}

export const effectRules: readonly Rule<Consumer>[] = [
  {
    id: 'OW121',
    severity: 'warning',
    title: 'Losing messages is for what nobody misses',
    reason: 'Told before the effect, the broker forgets what is in flight when a process dies.',
    fix: "Leave settle.when out, or set the risk to 'telemetry' or 'low value'.",
    judge: ({ settle, risk }) =>
      settle.when === 'before effect' && (risk === 'projection' || risk === 'notification')
        ? `settle.when 'before effect' with risk '${risk}'`
        : null,
  },
  {
    id: 'OW122',
    severity: 'warning',
    title: 'What leaves the database is declared',
    reason:
      'A call made by the handler itself is repeated with every retry and every replay, and nobody can say whether it happened.',
    fix: 'Declare the target in effect.external or effect.publish, and call effects.external or effects.publish.',
    judge: ({ risk, effect }) =>
      risk === 'notification' &&
      Object.keys(effect?.external ?? {}).length === 0 &&
      Object.keys(effect?.publish ?? {}).length === 0
        ? "risk 'notification' without a target in effect.external or effect.publish"
        : null,
  },
  {
    id: 'OW123',
    severity: 'warning',
    title: 'Calls are repeated only as long as the target remembers its key',
    reason:
      'Half of the key lifetime after a call that may have happened nothing is repeated by itself: the row waits for people although attempts are left.',
    fix: 'Make attempts or delays fewer, or set keyLifetimeMs to what the target promises.',
    judge: consumer =>
      targetsOf(consumer).flatMap(([name, target]) => {
        const doubtMs = withDefaults('effect.external.*', target).keyLifetimeMs / 2
        const horizonMs = callHorizonMs(target)
        const repeats = target.policy === undefined || target.policy === 'keyed'
        return repeats && horizonMs > doubtMs
          ? [
              `effect.external.${name}: attempts take up to ${durationText(horizonMs)}, half of the key lifetime is ${durationText(doubtMs)}`,
            ]
          : []
      }),
  },
  {
    id: 'OW124',
    severity: 'note',
    title: 'That a target keeps keys is said, not assumed',
    reason: 'A target that ignores the key does its work again with every repeat.',
    fix: "Look it up in the target's documentation, then say policy: 'keyed', or choose another policy.",
    judge: consumer =>
      isGrave(consumer.risk)
        ? targetsOf(consumer)
            .filter(([, target]) => target.policy === undefined)
            .map(([name]) => `effect.external.${name} has no policy, so 'keyed' is taken for granted`)
        : null,
  },
  {
    id: 'OW125',
    severity: 'error',
    title: 'A consumer does not feed itself',
    reason: 'What it publishes comes back to it: a loop that grows until something is full.',
    fix: 'Publish to another queue or topic.',
    judge: consumer => {
      const source = consumer.source as { kind: string; queue?: string; topic?: string; stream?: string }
      return Object.entries(consumer.effect?.publish ?? {}).flatMap(([name, target]) => {
        const to = 'queue' in target ? target.queue : 'topic' in target ? target.topic : null
        const own = source.kind === 'kafka' ? source.topic : (source.queue ?? source.stream)
        const sameBroker =
          target.broker === source.kind || (source.kind === 'rabbitmq-stream' && target.broker === 'rabbitmq')
        return sameBroker && to !== null && to === own
          ? [`effect.publish.${name} goes to ${to}, its source`]
          : []
      })
    },
  },
]
