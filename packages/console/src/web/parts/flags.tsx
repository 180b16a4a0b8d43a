import type { Json } from '../api.ts'
import { counted, measured } from './numbers.ts'
import { Badge } from './text.tsx'
import { duration } from './time.tsx'

/** Halts, pauses, brakes and burnt objectives, each as a sentence. */
export function Flags({ of }: { readonly of: Json }) {
  const flags = flagsOf(of)
  if (flags.length === 0) return null
  return (
    <ul class="flags">
      {flags.map(([tone, name, text]) => (
        <li>
          <Badge state={tone}>{name}</Badge> <bdi class="small">{text}</bdi>
        </li>
      ))}
    </ul>
  )
}

const limits: Readonly<Record<string, string>> = {
  lagMax: 'age of the oldest message',
  lagRecordsMax: 'messages at the source',
  setAsideMax: 'held messages',
  setAsideAgeMax: 'age of held messages',
  outboxAgeMax: 'age of the outbox',
  parkingShareMax: 'share of parked messages',
  duplicateShareMax: 'share of duplicates',
}

export const limitName = (name: string) => limits[name] ?? name

export function flagsOf(of: Json): readonly (readonly [string, string, string])[] {
  const { halted = null, brakes = [], objectives = [], alerts = 0, pausedBecause } = of
  const firing = typeof alerts === 'number' ? alerts : alerts.length
  return [
    ...(halted === null ? [] : [['critical', 'halted', halted.reason] as const]),
    ...(pausedBecause === null
      ? []
      : [['warning', 'paused', `${pausedBecause}, for ${duration(of.pausedSeconds)}`] as const]),
    ...brakes.map(
      (one: Json) =>
        [
          'warning',
          'brake',
          `${one.type || 'messages without a type'} is paused: ${counted(one.messages, 'message')} failed with ${one.cause}`,
        ] as const,
    ),
    ...objectives
      .filter(({ burnt }: Json) => burnt)
      .map(
        (one: Json) =>
          [
            'warning',
            'objective',
            `${limitName(one.name)}: ${measured(one.actual, one.unit)}, limit ${measured(one.limit, one.unit)}`,
          ] as const,
      ),
    ...(firing > 0 && typeof alerts === 'number'
      ? [['warning', counted(firing, 'alert'), 'open the consumer for its runbook'] as const]
      : []),
  ]
}
