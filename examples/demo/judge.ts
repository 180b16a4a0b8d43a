import type { Evidence, SentMessage } from './evidence.ts'

export interface Check {
  readonly name: string
  readonly ok: boolean
  /** The finding, as text. */
  readonly found: string
}

export interface Judgement {
  readonly captures: number
  readonly lost: number
  /** Captures applied or charged more than once. */
  readonly doubled: number
  readonly appliedTwice: number
  readonly chargedTwice: number
  readonly conflicts: number
  readonly quarantined: number
  readonly deadLettered: number
  readonly charges: number
  readonly calls: number
  readonly checks: readonly Check[]
}

/** Pure. Compares the three records with each other, without using the engine. */
export function judge(evidence: Evidence): Judgement {
  const { sent, held, captures, calls, ledger } = evidence
  const asked = new Map<string, SentMessage[]>()
  for (const message of sent) {
    if (message.capture !== null) asked.set(message.capture, [...(asked.get(message.capture) ?? []), message])
  }
  const applied = Map.groupBy(captures, row => row.capture)
  const charged = Map.groupBy(
    calls.filter(call => call.charged),
    call => call.capture,
  )
  const bytes = Map.groupBy(calls, call => call.capture)
  const times = (rows: ReadonlyMap<string, readonly unknown[]>, capture: string) =>
    rows.get(capture)?.length ?? 0

  const keys = [...asked.keys()]
  const lost = keys.filter(key => times(applied, key) === 0 || times(charged, key) === 0)
  const appliedTwice = [...applied.keys()].filter(key => times(applied, key) > 1)
  const chargedTwice = [...charged.keys()].filter(key => times(charged, key) > 1)
  const uninvited = [...new Set([...applied.keys(), ...charged.keys()])].filter(key => !asked.has(key))
  const otherBytes = [...bytes.values()].filter(of => new Set(of.map(call => call.digest)).size > 1)
  const unanswered = withoutOutcome(evidence)
  const wrongAmounts = amountsThatDiffer(evidence, charged)
  const unfinished = ledger.filter(row => row.state !== 'completed')
  const left = evidence.queued + evidence.outbox

  return {
    captures: keys.length,
    lost: new Set([...lost, ...unanswered.map(message => message.capture ?? message.digest)]).size,
    doubled: new Set([...appliedTwice, ...chargedTwice]).size,
    appliedTwice: appliedTwice.length,
    chargedTwice: chargedTwice.length,
    conflicts: held.filter(row => row.code === 'conflict').length,
    quarantined: held.filter(row => row.state === 'quarantined').length,
    deadLettered: held.filter(row => row.state === 'dead').length,
    charges: calls.filter(call => call.charged).length,
    calls: calls.length,
    checks: [
      none(
        'every confirmed message has an outcome',
        unanswered.map(m => m.id ?? m.digest),
        'without one',
      ),
      none('every capture is applied and charged', lost, 'lost'),
      none('no capture is applied twice', appliedTwice, 'twice'),
      none('no capture is charged twice', chargedTwice, 'twice'),
      none('nothing is applied or charged without a request', uninvited, 'uninvited'),
      none('amounts asked for, recorded and charged agree', wrongAmounts, 'differ'),
      none(
        'every call for a capture carried the same bytes',
        otherBytes.map(of => of[0]!.capture),
        'differ',
      ),
      none(
        'every charge is recorded as completed',
        unfinished.map(row => `${row.key} is ${row.state}`),
        'open',
      ),
      conflictsCheck(evidence),
      malformedCheck(evidence),
      {
        name: 'each message set aside has its copy in the dead-letter queue',
        ok: evidence.deadLetterCopies >= held.length,
        found: `${held.length} set aside, ${evidence.deadLetterCopies} copies`,
      },
      { name: 'queue and outbox are empty', ok: left === 0, found: `${left} left` },
    ],
  }
}

function none(name: string, offenders: readonly string[], word: string): Check {
  const examples =
    offenders.length === 0 ? '' : ` (${offenders.slice(0, 3).join(', ')}${offenders.length > 3 ? ', …' : ''})`
  return { name, ok: offenders.length === 0, found: `${offenders.length} ${word}${examples}` }
}

/** A marker with its id and exact bytes, or a row for those bytes among the messages set aside. */
function withoutOutcome({ sent, markers, held }: Evidence): SentMessage[] {
  const markerOf = new Map(markers.map(marker => [marker.id, marker]))
  const setAside = new Set(held.map(row => row.digest))
  return sent.filter(({ id, digest }) => {
    if (setAside.has(digest)) return false
    const marker = id === null ? undefined : markerOf.get(id)
    return marker?.digest !== digest || !['applied', 'duplicate'].includes(marker.status)
  })
}

/** The amount of the bytes that were applied, of the row they left, and of the charge. */
function amountsThatDiffer(
  { sent, markers, captures }: Evidence,
  charged: ReadonlyMap<string, readonly { readonly amount: number }[]>,
): string[] {
  const amountOf = new Map(sent.map(message => [message.digest, message.amount]))
  const digestOf = new Map(markers.map(marker => [marker.id, marker.digest]))
  return captures
    .filter(row => {
      const asked = amountOf.get(digestOf.get(row.id) ?? '')
      return asked !== row.amount || (charged.get(row.capture) ?? []).some(call => call.amount !== asked)
    })
    .map(row => row.capture)
}

/** Two payloads under one id: the first to arrive was applied, the other is quarantined. */
function conflictsCheck({ sent, markers, held }: Evidence): Check {
  const quarantined = new Set(held.filter(row => row.code === 'conflict').map(row => row.digest))
  const appliedDigest = new Map(markers.map(marker => [marker.id, marker.digest]))
  const payloads = Map.groupBy(
    sent.filter(message => message.id !== null),
    message => message.id!,
  )
  let conflicting = 0
  let wrong = 0
  for (const [id, messages] of payloads) {
    const digests = [...new Set(messages.map(message => message.digest))]
    if (digests.length === 1) continue
    conflicting++
    const others = digests.filter(digest => digest !== appliedDigest.get(id))
    if (others.length !== digests.length - 1 || !others.every(digest => quarantined.has(digest))) wrong++
  }
  return {
    name: 'same id with another payload: one applied, the other quarantined',
    ok: wrong === 0 && conflicting === quarantined.size,
    found: `${conflicting} sent, ${quarantined.size} quarantined, ${wrong} wrong`,
  }
}

function malformedCheck({ sent, held }: Evidence): Check {
  const malformed = new Set(
    sent.filter(message => message.kind === 'malformed').map(message => message.digest),
  )
  const kept = held.filter(row => malformed.has(row.digest)).length
  return {
    name: 'malformed messages are kept with their reason, none is applied',
    ok: kept === malformed.size,
    found: `${malformed.size} sent, ${kept} kept`,
  }
}
