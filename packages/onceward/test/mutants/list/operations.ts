import type { Mutant } from '../mutant.ts'

/** Acts of operators, retention, rebuilds. */
export const operationsMutants: readonly Mutant[] = [
  {
    name: 'a deletion without approval',
    file: 'drivers/postgres/migrations/0001-first-set/approvals.ts',
    text: `if a.approved_at is null then
    return onceward.refuse('parked delete', of_consumer`,
    replacement: `if a.id is null then
    return onceward.refuse('parked delete', of_consumer`,
    breaks: 'One person deletes messages alone.',
    test: 'parking/approval',
    title: 'is required to delete, and may not be the requester',
  },
  {
    name: 'the audit is no chain',
    file: 'drivers/postgres/migrations/0001-first-set/audit.ts',
    text: 'new.hash := sha256(head.hash || convert_to(',
    replacement: 'new.hash := sha256(convert_to(',
    breaks: 'A removed row of the audit is not noticed.',
    test: 'parking/audit',
    title: 'is one chain although many write at once',
  },
  {
    name: 'a parked key is released out of order',
    file: 'drivers/postgres/migrations/0001-first-set/judge.ts',
    text: "when before.id is not null then 'waits behind row ' || before.id",
    replacement: "when false then 'waits behind row ' || before.id",
    breaks: 'A later message of a parked key is applied before an earlier one.',
    test: 'store/fences',
    title: 'rows that an operator selects are redriven as they were shown, and in the order of their key',
  },
  {
    name: 'a skipped message keeps its marker',
    file: 'drivers/postgres/migrations/0001-first-set/parking-acts.ts',
    text: "update onceward.inbox i set status = 'ignored',",
    replacement: 'update onceward.inbox i set status = i.status,',
    breaks: 'A copy of a message that an operator closed is held for ever.',
    test: 'parking/with-a-past',
    title: 'is skipped with any headers',
  },
  {
    name: 'a second name is a second person',
    file: 'drivers/postgres/migrations/0001-first-set/people.ts',
    text: 'return coalesce(onceward.normalized_name(one) = onceward.normalized_name(other)\n',
    replacement: 'return coalesce(one = other\n',
    breaks: 'One person approves under another spelling.',
    test: 'parking/one-person',
    title: 'is the same person when the name is written with blanks around it',
  },
  {
    name: 'another selection is redriven',
    file: 'drivers/postgres/migrations/0001-first-set/redrives.ts',
    text: `if onceward.selection_digest(ids) is distinct from expected then
    return onceward.refuse('parked redrive'`,
    replacement: `if expected is null then
    return onceward.refuse('parked redrive'`,
    breaks: 'Rows are moved that the operator has not seen.',
    test: 'store/fences',
    title: 'rows that an operator selects are redriven as they were shown, and in the order of their key',
  },
  {
    name: 'markers of held messages are purged',
    file: 'drivers/postgres/retention/kinds.ts',
    text: "finished: `(t.status in ('applied', 'ignored', 'duplicate', 'stale')",
    replacement:
      "finished: `(t.status in ('applied', 'ignored', 'duplicate', 'stale', 'parked', 'stored', 'waiting')",
    breaks: 'A held message loses its marker, and a copy is applied beside it.',
    test: 'retention/purge',
    title: 'is finished: what is stored, waits, is parked or has its bytes kept never loses its marker',
  },
  {
    name: 'the horizon does not move',
    file: 'drivers/postgres/retention/purge-batch.ts',
    text: "if (kind.kind === 'markers') await client.query(moveHorizon",
    replacement: "if (kind.kind === 'nothing') await client.query(moveHorizon",
    breaks: 'A message whose marker was removed is applied a second time.',
    test: 'retention/purge',
    title: 'is removed when it is older than its term, and the horizon moves',
  },
  {
    name: 'evidence of held work is purged',
    file: 'drivers/postgres/retention/read-cutoffs.ts',
    text: "where consumer_id = $1 and state in ('stored', 'waiting', 'parked')`",
    replacement: "where consumer_id = $1 and state in ('waiting') and false`",
    breaks: 'The markers since a parked message are removed before it is decided.',
    test: 'retention/purge',
    title: 'stays from the oldest unfinished message on',
  },
]
