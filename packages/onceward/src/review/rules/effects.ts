import type { Consumer } from '../../contract/define-consumer.ts'
import { durationText } from '../../contract/duration.ts'
import type { ExternalTarget } from '../../contract/external-target.ts'
import { isGrave } from '../../contract/failure-rules.ts'
import { withDefaults } from '../../contract/options/defaults.ts'
import type { Rule } from '../rule.ts'

const targetsOf = ({ effect }: Consumer) => Object.entries(effect?.external ?? {})

/** The longest time that all attempts of a call take, by the target's options or our defaults. */
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
    title: 'At-most-once is used only for disposable messages',
    reason: 'Acknowledged before the effect, messages in flight are lost when a process dies.',
    fix: "Omit settle.when, or set the risk to 'telemetry' or 'low value'.",
    judge: ({ settle, risk }) =>
      settle.when === 'before effect' && (risk === 'projection' || risk === 'notification')
        ? `settle.when 'before effect' with risk '${risk}'`
        : null,
  },
  {
    id: 'OW122',
    severity: 'warning',
    title: 'External effects are declared',
    reason:
      'A call that the handler makes itself is repeated with every retry and replay, and no record shows whether it happened.',
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
    title: 'Calls are repeated only while the target remembers their key',
    reason:
      'After half of the key lifetime the dispatcher no longer repeats a call with an unknown outcome: the row waits for an operator although attempts are left.',
    fix: 'Reduce attempts or delays, or set keyLifetimeMs to what the target promises.',
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
    title: 'The idempotency of a target is declared, not assumed',
    reason: 'A target that ignores the key does its work again with every repeat.',
    fix: "Check the target's documentation, then set policy: 'keyed', or choose another policy.",
    judge: consumer =>
      isGrave(consumer.risk)
        ? targetsOf(consumer)
            .filter(([, target]) => target.policy === undefined)
            .map(([name]) => `effect.external.${name} has no policy, so 'keyed' is assumed`)
        : null,
  },
  {
    id: 'OW125',
    severity: 'error',
    title: 'A consumer does not feed itself',
    reason: 'The consumer receives what it publishes: a loop that grows until a limit is reached.',
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
