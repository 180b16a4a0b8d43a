import type { Application, Evidence, SentMessage } from './evidence.ts'

export interface Verdict {
  /** Confirmed, and neither applied nor recorded as set aside. */
  readonly lost: readonly string[]
  readonly doubled: readonly string[]
  readonly outOfOrder: readonly string[]
  readonly unexplained: readonly string[]
}

export const isClean = (verdict: Verdict): boolean =>
  Object.values(verdict).every((found: readonly string[]) => found.length === 0)

/** Errors with which a consumer may halt, by the fault that must have happened. */
const declaredHalts: Readonly<Record<string, string>> = { server_changed: 'promote standby' }

/** Pure. Compares the records with each other; `happened` are the kinds of fault that were staged. */
export function judge(evidence: Evidence, happened: ReadonlySet<string>): Verdict {
  return {
    lost: lost(evidence),
    doubled: doubled(evidence),
    outOfOrder: outOfOrder(evidence.applications),
    unexplained: [
      ...unexplainedHalts(evidence, happened),
      ...unexplainedOutcomes(evidence),
      ...unexplainedEffects(evidence),
      ...missingDeadLetters(evidence),
    ],
  }
}

/** True when nothing is left to do, so that a run may end. */
export function isQuiet(evidence: Evidence): boolean {
  const open = evidence.ledger.some(({ state }) => state !== 'completed')
  const kept = evidence.held.some(({ state }) => ['stored', 'waiting', 'parked'].includes(state))
  const left = (evidence.depth ?? 0) + evidence.outbox
  return lost(evidence).length === 0 && !open && !kept && left === 0
}

function lost({ confirmed, applications, held, closed }: Evidence): string[] {
  const applied = Map.groupBy(applications, ({ request }) => request)
  const digests = new Set([...held, ...closed].map(({ digest }) => digest))
  const kept = new Set([...held, ...closed].map(({ id }) => id))
  const isThere = ({ kind, id, request, amount, digest }: SentMessage) => {
    switch (kind) {
      case 'aborted':
        return true
      case 'hostile':
      case 'rejected':
        return digests.has(digest)
      case 'conflict':
        return digests.has(digest) || applied.get(request!)?.some(row => row.amount === amount) === true
      default:
        return applied.has(request!) || kept.has(id) || digests.has(digest)
    }
  }
  return names(confirmed.filter(message => message.kind !== 'duplicate' && !isThere(message)))
}

function doubled({ applications, totals, calls, copies }: Evidence): string[] {
  const repeated = [...Map.groupBy(applications, ({ request }) => request)].filter(([, of]) => of.length > 1)
  const sums = Map.groupBy(applications, ({ key }) => key)
  const wrong = totals.filter(({ key, amount, times }) => {
    const of = sums.get(key) ?? []
    return of.length !== times || of.reduce((sum, row) => sum + row.amount, 0) !== amount
  })
  const keysOf = [...Map.groupBy(calls, ({ request }) => request)].filter(([, of]) => distinct(of, 'key') > 1)
  const bytesOf = [...Map.groupBy(calls, ({ key }) => key)].filter(([, of]) => distinct(of, 'digest') > 1)
  const published = [...Map.groupBy(copies ?? [], ({ of }) => of)].filter(([, of]) => distinct(of, 'id') > 1)
  return [
    ...repeated.map(([request, of]) => `${request} was applied ${of.length} times`),
    ...wrong.map(({ key }) => `the total of ${key} is not the sum of its applications`),
    ...keysOf.map(([request]) => `${request} was charged under several keys`),
    ...bytesOf.map(([key]) => `calls with key ${key} carried different bytes`),
    ...published.map(([of]) => `what ${of} caused was published under several ids`),
  ]
}

const distinct = <T>(rows: readonly T[], field: keyof T): number => new Set(rows.map(row => row[field])).size

/** Rejected, skipped and conflicting requests leave gaps, never a step back. */
function outOfOrder(applications: readonly Application[]): string[] {
  return [...Map.groupBy(applications, ({ key }) => key)].flatMap(([key, rows]) =>
    rows.flatMap((row, n) => {
      const before = rows[n - 1]
      return before !== undefined && row.sequence < before.sequence
        ? [`${key}: ${row.id} (${row.sequence}) was applied after ${before.id} (${before.sequence})`]
        : []
    }),
  )
}

function unexplainedHalts({ halts, late }: Evidence, happened: ReadonlySet<string>): string[] {
  const without = halts.filter(({ code }) => !happened.has(declaredHalts[code] ?? ''))
  return [...without.map(({ instance, code, text }) => `${instance} halted: ${code} (${text})`), ...late]
}

function unexplainedOutcomes({ sending, applications, held, notes, markers, depth }: Evidence): string[] {
  const kindsOf = Map.groupBy(sending, ({ id }) => id)
  const kinds = (id: string | null) => (kindsOf.get(id) ?? []).map(({ kind }) => kind)
  const applied = new Set(applications.map(({ id }) => id))
  const marked = new Set(markers.filter(({ status }) => status === 'applied').map(({ id }) => id))
  const mayFail = (id: string) =>
    id.startsWith('hostile-') || kinds(id).some(kind => ['failing', 'rejected', 'conflict'].includes(kind))
  const asked = (id: string) =>
    kinds(id).some(kind => ['first', 'failing', 'resent', 'duplicate'].includes(kind))
  const setAside = notes.filter(
    ({ id, code, detail }) =>
      ['parked', 'dead', 'quarantined'].includes(code) && !detail.startsWith('behind_') && !mayFail(id),
  )
  const unfinished = held.filter(({ state }) => ['stored', 'waiting', 'parked'].includes(state))
  return [
    ...[...applied].filter(id => !asked(id)).map(id => `${id} was applied and not to be applied`),
    ...[...applied].filter(id => !marked.has(id)).map(id => `${id} was applied and has no marker`),
    ...[...marked].filter(id => !applied.has(id)).map(id => `${id} has a marker and was not applied`),
    ...setAside.map(({ id, detail }) => `${id} was set aside without a cause of ours: ${detail}`),
    ...unfinished.map(({ id, state }) => `${id} is still ${state}`),
    ...((depth ?? 0) > 0 ? [`${depth} messages were left at the source`] : []),
  ]
}

function unexplainedEffects({ applications, ledger, calls, outbox, copies }: Evidence): string[] {
  const called = new Set(calls.map(({ id }) => id))
  const published = new Set(copies?.map(({ of }) => of ?? 'an unreadable message'))
  const intended = new Set(ledger.map(({ id }) => id))
  const applied = new Set(applications.map(({ id }) => id))
  const wrong = (ids: Iterable<string>, isRight: (id: string) => boolean, why: string) =>
    [...new Set(ids)].filter(id => !isRight(id)).map(id => `${id} ${why}`)
  return [
    ...ledger
      .filter(({ state }) => state !== 'completed')
      .map(({ id, state }) => `the effect of ${id} is ${state}`),
    ...wrong(intended, id => called.has(id), 'has an effect that was never requested from the gateway'),
    ...wrong(applied, id => intended.has(id), 'was applied and has no row in the ledger'),
    ...wrong(called, id => applied.has(id), 'was charged and not applied'),
    ...(outbox > 0 ? [`${outbox} rows of the outbox were never sent`] : []),
    ...(copies === null ? [] : wrong(applied, id => published.has(id), 'was applied and never published')),
    ...wrong(published, id => applied.has(id), 'was published and not applied'),
  ]
}

/** Every message that no worker tries again has its copy, repeated only under its own id. */
function missingDeadLetters({ held, deadLetters }: Evidence): string[] {
  const given = held.filter(({ state }) => state === 'dead' || state === 'quarantined').length
  const found = distinct(deadLetters ?? [], 'id')
  return deadLetters === null || found >= given ? [] : [`${given} dead letters have ${found} copies`]
}

function names(messages: readonly SentMessage[]): string[] {
  return messages.map(
    ({ place, kind, id, digest }) => `${id ?? digest.slice(0, 12)} (${kind}, place ${place})`,
  )
}
