import type { Status, WaitingRequests } from 'onceward/operations'
import type { Overview } from './screens.ts'

/** Something that needs attention, the most urgent first. */
export interface Attention {
  readonly severity: 'critical' | 'warning'
  readonly consumer: string | null
  readonly text: string
  /** The page where it is decided, below the base path. */
  readonly page: string
}

export function findAttention(
  status: Status,
  { brakes, trouble }: Pick<Overview, 'brakes' | 'trouble'>,
): readonly Attention[] {
  const found = [
    ...restoreOf(trouble),
    ...lossesOf(status),
    ...stopsOf(brakes, trouble),
    ...status.consumers.flatMap(ofConsumer),
    ...ofEffects(status),
    ...ofOutbox(status),
    ...trouble.requests.map(ofRequests),
  ]
  return found.toSorted((a, b) => rank(a) - rank(b))
}

const rank = ({ severity }: Attention) => (severity === 'critical' ? 0 : 1)

function restoreOf({ openIncarnation }: Overview['trouble']): Attention[] {
  if (openIncarnation === null) return []
  const text = `This copy of the database must be accepted; every consumer is halted until then (${openIncarnation.why})`
  return [{ severity: 'critical', consumer: null, text, page: 'decisions' }]
}

const requested = {
  deletion: ['A deletion', 'deletions'],
  fix: ['A fixed payload', 'fixed payloads'],
  campaign: ['A campaign', 'campaigns'],
} as const

function ofRequests({ consumer, kind, count }: WaitingRequests): Attention {
  const [one, many] = requested[kind]
  const subject = count === 1 ? `${one} waits` : `${count.toLocaleString('en')} ${many} wait`
  return { severity: 'warning', consumer, text: `${subject} for a second person`, page: 'approvals' }
}

function lossesOf({ openLosses }: Status): Attention[] {
  if (openLosses === 0) return []
  const text = `${counted(openLosses, 'declared loss', 'declared losses')} to accept: the consumers halt until then`
  return [{ severity: 'critical', consumer: null, text, page: 'decisions' }]
}

function stopsOf(brakes: Overview['brakes'], { halts }: Overview['trouble']): Attention[] {
  const page = (consumer: string) => `consumers/${encodeURIComponent(consumer)}`
  return [
    ...halts.map(({ consumer, reason }) => ({
      severity: 'critical' as const,
      consumer,
      text: `Halted: ${reason}`,
      page: page(consumer),
    })),
    ...brakes.map(({ consumer, type, cause }) => ({
      severity: 'critical' as const,
      consumer,
      text: `Event type ${type || '(no type)'} is paused: ${cause}`,
      page: page(consumer),
    })),
  ]
}

function ofConsumer(consumer: Status['consumers'][number]): Attention[] {
  const { name, parked, dead, quarantined, silentRuns, openRuns, pausedBecause } = consumer
  const of = (severity: Attention['severity'], text: string, page: string): Attention => ({
    severity,
    consumer: name,
    text,
    page,
  })
  const search = (state: string) => `messages?q=${encodeURIComponent(`consumer:${name} state:${state}`)}`
  const page = `consumers/${encodeURIComponent(name)}`
  return [
    ...(quarantined > 0
      ? [of('critical', `${counted(quarantined, 'quarantined message')}`, search('quarantined'))]
      : []),
    ...(silentRuns > 0 && openRuns === 0
      ? [of('critical', `No process runs: ${counted(silentRuns, 'run')} ended without a record`, page)]
      : []),
    ...(pausedBecause === null ? [] : [of('critical', `Paused: ${pausedBecause}`, page)]),
    ...(parked > 0 ? [of('warning', `${counted(parked, 'parked message')}`, search('parked'))] : []),
    ...(dead > 0 ? [of('warning', `${counted(dead, 'dead message')}`, search('dead'))] : []),
  ]
}

function ofEffects({ ledger }: Status): Attention[] {
  return ledger
    .filter(({ state }) => state === 'unknown' || state === 'reconciling')
    .map(({ consumer, target, state, count }) => ({
      severity: 'warning',
      consumer,
      text: `${counted(count, 'call')} to ${target} with outcome ${state}`,
      page: 'ledger',
    }))
}

function ofOutbox({ outbox }: Status): Attention[] {
  return outbox
    .filter(({ served, failing }) => !served || failing > 0)
    .map(({ queue, destination, served, waiting, failing }) => ({
      severity: served ? 'warning' : 'critical',
      consumer: null,
      text: served
        ? `${counted(failing, 'message')} for ${queue} refused by ${destination}`
        : `${counted(waiting, 'message')} for ${queue} without a relay to ${destination}`,
      page: 'outbox',
    }))
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`
}
