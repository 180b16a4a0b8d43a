import type { ContractFacts, Leak, LeakKind } from './child/orders.ts'
import type { VolatileColumn } from './clean-run.ts'
import type { Difference } from './compare-snapshots.ts'
import type { FaultClass } from './fault.ts'

/** What is wrong with the handler, and how to fix it. */
export interface Diagnosis {
  readonly what: string
  readonly fix: string
}

/** A reason as the end of a sentence: without the name of its class and its full stop. */
export const clause = (reason: string): string =>
  reason.replace(/\b(?:Onceward)?Error: /, '').replace(/\.+$/, '')

const leakDiagnoses: Readonly<Record<LeakKind, (what: string) => Diagnosis>> = {
  'other connection': what => ({
    what: `The handler sends a statement on another connection ("${what}"). It commits without the marker, so a retry repeats it and a crash keeps half of the effect.`,
    fix: 'Send every statement through `tx`, also in the functions that the handler calls.',
  }),
  'outside read': what => ({
    what: `The handler reads on another connection ("${what}"). It sees neither its own writes nor the locks of its transaction.`,
    fix: 'Read through `tx`, unless the rows never change while messages are handled.',
  }),
  network: what => ({
    what: `The handler calls ${what} before the transaction commits. A rollback does not undo the call, and the retry makes it again.`,
    fix: "Declare the target in effect.external and request the call with effects.external('name', { key, body }): it is recorded in the transaction and made after the commit, with an idempotency key.",
  }),
  file: what => ({
    what: `The handler writes the file ${what}. A rollback does not undo it, and the retry writes it again.`,
    fix: 'Write rows through `tx`, and create the file from them afterwards.',
  }),
  'late statement': what => ({
    what: `The handler uses \`tx\` after it returned ("${what}"). The statement is refused, so its write is lost.`,
    fix: 'Await everything that the handler starts: timers, callbacks and promises.',
  }),
  'not awaited': () => ({
    what: 'The handler returns before a statement on `tx` is answered. The message fails and is set aside.',
    fix: 'Await every tx.query, also inside loops: use for … of with await, or await Promise.all.',
  }),
  'swallowed error': () => ({
    what: 'The handler catches the error of a statement on `tx` and continues. PostgreSQL has aborted the transaction, so the message fails and is set aside.',
    fix: 'Rethrow the error, or avoid it in SQL, as with "on conflict do nothing".',
  }),
  'open transaction': what => ({
    what: `The handler leaves a transaction open on a connection of its own ("${what}"). Its locks block other consumers, and its writes are lost.`,
    fix: 'Use `tx`: Onceward begins and ends the transaction.',
  }),
  'nothing done': what => ({
    what: `The handler did nothing for message ${what}: no statement, no requested effect and no verdict. The message is recorded as applied.`,
    fix: 'Return ignore(reason) for a message that is of no interest. Return reject(reason) or throw for one that cannot be handled, so that it is not lost silently.',
  }),
}

/** Kinds that are only reported. */
const mild: readonly LeakKind[] = ['outside read', 'nothing done']
/** Kinds that are failures by themselves. */
export const leakKinds = (Object.keys(leakDiagnoses) as LeakKind[]).filter(kind => !mild.includes(kind))

export const diagnoseLeak = ({ kind, what }: Leak): Diagnosis => leakDiagnoses[kind](what)

/** An identity that depends on more than the message. */
export function diagnoseIdentity(unstable: string): Diagnosis {
  return {
    what: `identity.${unstable}, not only on the message. A redelivery gets another identity and is applied again.`,
    fix: 'Read the identity from the message: an id that its producer wrote once.',
  }
}

/** The contract gives two different samples one identity. */
export const sharedIdentity = (id: string): Diagnosis => ({
  what: `Two messages with different content have the identity ${id}: the second one is set aside as a conflict, and a correction never arrives.`,
  fix: 'identity.id must name the message, not the entity that it is about: use the id that its producer gave it, or add the version. If the samples contain a conflict on purpose, remove it: verify makes conflicts itself.',
})

/** The clean run gave no effect to compare with. */
export const nothingApplied = (ended: string): Diagnosis => ({
  what: `No message was applied in the clean run, so nothing was proven: ${clause(ended)}.`,
  fix: 'Add the tables and reference rows that the messages need (--schema, --migrate or prepare), correct the samples, or fix the handler as the reason says.',
})

/** A row key that is random. Not a failure: the marker recognises a repeated message. */
export const randomRowKey = (column: string): Diagnosis => ({
  what: `The row key ${column} comes from the clock or from random numbers of the handler.`,
  fix: 'The marker prevents a second row. A rebuild makes other keys, though: derive the key from the message, as with stableId, if anything refers to it.',
})

/** Which rows exist depends on more than the messages. Not a failure: each message is applied once. */
export const volatileRows = (tables: readonly string[], from: VolatileColumn['from']): Diagnosis => ({
  what: `The number of rows in ${tables.join(' and ')} depends on ${from === 'handler' ? 'the clock or random numbers of the handler' : 'the time or sequences of the database'}. A replay or rebuild writes other rows.`,
  fix: 'Decide by the time in the message, or compute what depends on the present time when it is read. Columns of these tables were not compared.',
})

/** A key of a call or message that comes from the clock, from random numbers or from a sequence. */
export function diagnoseKey({ column, from }: VolatileColumn): Diagnosis {
  const source =
    from === 'handler'
      ? 'from the clock or from random numbers inside the handler'
      : 'from a sequence or the time of the database'
  return {
    what: `The key ${column} gets its value ${source}. A retry after a rollback uses another key, so nothing recognises the repeated operation.`,
    fix: 'Derive the key from the message, for example from its business key, or with stableId.',
  }
}

export interface FailureFacts {
  readonly class: FaultClass
  readonly contract: ContractFacts
  readonly leaks: readonly Leak[]
  readonly differences: readonly Difference[]
  readonly trouble: string | null
  /** Classes that failed so far, this one included. */
  readonly failed: ReadonlySet<FaultClass>
}

const lossy: readonly FaultClass[] = ['point', 'statement', 'restart', 'rollback', 'freeze', 'commit']
const races: readonly FaultClass[] = ['batch', 'processes']
const repeats: readonly FaultClass[] = ['twice', 'late']

/** The most likely cause of a difference, from the fault and from what was watched. Pure. */
export function diagnose(facts: FailureFacts): Diagnosis {
  const { class: kind, contract, leaks, trouble } = facts
  if (trouble !== null && (kind === 'campaign' || kind === 'rebuild'))
    return {
      what: `A campaign in mode ${kind === 'campaign' ? 'replay' : kind} failed: ${clause(trouble)}.`,
      fix: 'A campaign must be able to run over messages that were already applied, and a rebuild over empty tables: handlers name tables without a schema and read nothing but their own.',
    }
  if (trouble !== null)
    return {
      what: `The consumer did not recover: ${clause(trouble)}.`,
      fix: 'Look at the handler for a wait without a limit, a lock that is never released, or a process exit.',
    }
  const outside = leaks.find(leak => ['other connection', 'network', 'file'].includes(leak.kind))
  if (outside !== undefined && kind !== 'order') return diagnoseLeak(outside)
  if (contract.settle === 'before effect' && lossy.includes(kind)) return beforeEffect
  if (repeats.includes(kind)) return contract.dedup === 'marker' ? notRecognised : byPosition
  if (kind === 'order') return orderMatters
  if (races.includes(kind)) return facts.failed.has('order') ? orderMatters : readThenWrite
  if (kind === 'resent') return byBusinessKey
  if (kind === 'conflict') return conflicting
  if (kind === 'campaign' || kind === 'rebuild') return replayed
  if (kind === 'poison') return poisoned
  if (facts.failed.has('batch')) return readThenWrite
  return inMemory
}

const beforeEffect: Diagnosis = {
  what: "The contract settles before the effect (settle.when: 'before effect'): a process that dies loses the messages in flight.",
  fix: 'Remove settle.when, so that messages are acknowledged after the commit; or accept the loss and omit these faults.',
}
const notRecognised: Diagnosis = {
  what: 'A second delivery of the same message has an effect of its own.',
  fix: 'Check identity.id: it must be the same for every delivery of a message, and different for different messages.',
}
const byPosition: Diagnosis = {
  what: 'The contract recognises messages by their position in the log only, so a message that was written to the log twice is applied twice.',
  fix: "Use dedup: 'marker' (the default) with an identity from the message, or make the effect idempotent.",
}
const orderMatters: Diagnosis = {
  what: 'The result depends on the order of arrival, which the contract does not keep: an older message overwrites a newer one.',
  fix: "Guard each write by the version of the message (where version < $n, or effect.apply: projection), or declare order: 'key' with identity.orderKey.",
}
const readThenWrite: Diagnosis = {
  what: 'The handler reads rows and writes what it concluded from them, without a lock. Two messages that are handled at the same time lose one of the changes, or make it twice.',
  fix: "Let the database decide (set total = total + $1, or a unique constraint with on conflict), lock the row (select … for update), or declare order: 'key'.",
}
const byBusinessKey: Diagnosis = {
  what: 'The same operation under another message id has a second effect.',
  fix: 'Check identity.businessKey and identity.businessDigest: they must be equal for a repeated operation.',
}
const conflicting: Diagnosis = {
  what: 'Other content under a known message id changed the tables.',
  fix: 'Check identity.id and message.digestHeaders: the id must cover one content only.',
}
const replayed: Diagnosis = {
  what: 'A campaign over messages that were already applied changed the tables or requested effects again.',
  fix: 'Check identity.id for values that a file or an archive does not carry, such as broker headers; and let a rebuild write its own tables.',
}
const poisoned: Diagnosis = {
  what: 'An unreadable message beside the others changed what they did.',
  fix: 'Declare a schema in `message`, so that broken messages never reach the handler.',
}
const inMemory: Diagnosis = {
  what: 'The handler keeps something in memory between messages, such as a set of known ids, a cache or a counter. A rollback or a restart does not undo it, so memory and tables disagree.',
  fix: 'Keep it in a table and read it through `tx`. Markers already recognise repeated messages.',
}
