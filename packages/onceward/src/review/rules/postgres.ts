import { durationText } from '../../contract/duration.ts'
import type { DatabaseFacts } from '../../drivers/postgres/server/read-database.ts'
import type { Rule } from '../rule.ts'

/** A database, and this process's idea of the date when it was asked. */
export interface DatabaseSubject extends DatabaseFacts {
  readonly wallMs: number
}

const versionMin = 150_000
const skewWarnMs = 30_000
const skewMaxMs = 3_600_000
const deadMin = 10_000
const oldTransactionSeconds = 3_600

const skewText = ({ clockMs, wallMs }: DatabaseSubject) =>
  `the database's clock is ${durationText(Math.round(Math.abs(clockMs - wallMs)))} ${clockMs > wallMs ? 'ahead of' : 'behind'} this machine's`
const skewMs = ({ clockMs, wallMs }: DatabaseSubject) => Math.abs(clockMs - wallMs)

export const postgresRules: readonly Rule<DatabaseSubject>[] = [
  {
    id: 'OW401',
    severity: 'error',
    title: 'PostgreSQL is 15 or newer',
    reason: 'The schema uses what older versions do not have; nothing starts on them.',
    fix: 'Upgrade the server.',
    judge: ({ versionNumber }) =>
      versionNumber < versionMin ? `the server is version ${versionNumber}` : null,
  },
  {
    id: 'OW402',
    severity: 'error',
    title: 'Commits reach the disk',
    reason: 'With fsync off a power cut can lose or damage everything that was settled as done.',
    fix: 'Set fsync = on and restart the server.',
    judge: ({ settings }) => (settings.fsync === 'off' ? 'fsync is off' : null),
  },
  {
    id: 'OW403',
    severity: 'error',
    title: 'Torn pages can be repaired',
    reason: 'With full_page_writes off a crash in the middle of a page leaves it damaged.',
    fix: 'Set full_page_writes = on.',
    judge: ({ settings }) => (settings.full_page_writes === 'off' ? 'full_page_writes is off' : null),
  },
  {
    id: 'OW404',
    severity: 'error',
    title: 'A commit is durable when it is answered',
    reason:
      'The broker is told after the commit. With synchronous_commit off a crash takes commits whose messages are gone from the broker.',
    fix: 'Set synchronous_commit = on for this role and database.',
    judge: ({ settings }) => (settings.synchronous_commit === 'off' ? 'synchronous_commit is off' : null),
  },
  {
    id: 'OW405',
    severity: 'error',
    title: 'The address leads to the primary',
    reason: 'A standby takes no writes, and what it answers may be old.',
    fix: 'Use the address of the primary, as with target_session_attrs=read-write.',
    judge: ({ inRecovery, settings }) => {
      if (inRecovery) return 'the server is in recovery: a standby, or not ready yet'
      return settings.default_transaction_read_only === 'on' ? 'default_transaction_read_only is on' : null
    },
  },
  {
    id: 'OW406',
    severity: 'warning',
    title: 'The default isolation is read committed',
    reason:
      'Our transactions say their isolation, others of this login do not: stricter ones fail under load and must be repeated by their owners.',
    fix: "Set default_transaction_isolation = 'read committed' for this role.",
    judge: ({ settings }) =>
      (settings.default_transaction_isolation ?? 'read committed') === 'read committed'
        ? null
        : `default_transaction_isolation is ${settings.default_transaction_isolation}`,
  },
  {
    id: 'OW407',
    severity: 'error',
    title: 'A transaction stays together',
    reason:
      'A pooler in statement mode spreads the statements of a transaction, so marker and effect could not commit together.',
    fix: 'Set pool_mode to transaction or session, or connect directly.',
    judge: ({ pooling }) => (pooling === 'statement' ? 'a pooler in statement mode is in between' : null),
  },
  {
    id: 'OW408',
    severity: 'note',
    title: 'It is known that a pooler is in between',
    reason:
      'In transaction mode everything works, but hints do not arrive: queues on PostgreSQL are polled. Settings that other clients SET stay on the connections.',
    fix: 'Nothing, or a direct address where latency matters.',
    judge: ({ pooling }) => (pooling === 'transaction' ? 'a pooler in transaction mode is in between' : null),
  },
  {
    id: 'OW409',
    severity: 'error',
    title: 'Autovacuum works on our tables',
    reason:
      'Without it tables of many short-lived rows grow without end, and at last the server stops to save its transaction ids.',
    fix: 'Set autovacuum and track_counts on, and reset autovacuum_enabled of the table.',
    judge: ({ settings, tables }) => {
      const off = ['autovacuum', 'track_counts'].filter(name => settings[name] === 'off')
      if (off.length > 0) return off.map(name => `${name} is off`)
      return tables
        .filter(one => !one.autovacuum)
        .map(one => `autovacuum is switched off for onceward.${one.table}`)
    },
  },
  {
    id: 'OW410',
    severity: 'warning',
    title: 'Our tables are not bloated',
    reason: 'Dead rows are read and cached with the live ones: claims and purges become slow.',
    fix: 'Look for long transactions and replication slots that hold dead rows; then vacuum the table.',
    judge: ({ tables }) =>
      tables
        .filter(({ live, dead }) => dead >= deadMin && dead > live)
        .map(
          ({ table, live, dead }) => `onceward.${table} has about ${dead} dead rows and ${live} live ones`,
        ),
  },
  {
    id: 'OW411',
    severity: 'warning',
    title: 'Clocks agree',
    reason: 'Due times and leases go by the database’s clock; people compare them with their own.',
    fix: 'Synchronise both with NTP.',
    judge: subject =>
      skewMs(subject) > skewWarnMs && skewMs(subject) <= skewMaxMs ? skewText(subject) : null,
  },
  {
    id: 'OW412',
    severity: 'error',
    title: 'Clocks are not an hour apart',
    reason:
      'One of the dates is wrong, so nothing is removed: with a wrong date too much would be forgotten.',
    fix: 'Set the clocks right, then start the processes again.',
    judge: subject => (skewMs(subject) > skewMaxMs ? skewText(subject) : null),
  },
  {
    id: 'OW413',
    severity: 'error',
    title: 'The login may do what a consumer does',
    reason: 'The first batch would fail for a missing right, and the consumer would halt.',
    fix: 'Run select onceward.create_roles() as owner, then grant onceward_run to the login.',
    judge: ({ missingRights, role }) =>
      missingRights.length === 0
        ? null
        : `${role} has no right to ${missingRights.slice(0, 4).join(', ')}${missingRights.length > 4 ? ` and ${missingRights.length - 4} more` : ''}`,
  },
  {
    id: 'OW414',
    severity: 'warning',
    title: 'The login is no superuser',
    reason: 'The rules between people, such as approvals and the audit, do not bind a superuser.',
    fix: 'Run consumers under a login in role onceward_run.',
    judge: ({ superuser, role }) => (superuser ? `${role} is a superuser` : null),
  },
  {
    id: 'OW415',
    severity: 'error',
    title: 'The schema fits this version',
    reason:
      'Consumers refuse to start on a schema that is missing, older than they need, or newer than they know.',
    fix: 'Run "onceward migrate", or deploy a newer version.',
    judge: ({ schema, schemaWanted, missingRights }) => {
      if (missingRights.length > 0) return null
      if (schema === null) return 'the database has no Onceward schema'
      if (schema.version < schemaWanted)
        return `the schema is at version ${schema.version}, this version needs ${schemaWanted}`
      return schema.compatibleFrom > schemaWanted
        ? `the schema works with code from version ${schema.compatibleFrom} on, this one knows ${schemaWanted}`
        : null
    },
  },
  {
    id: 'OW416',
    severity: 'warning',
    title: 'No transaction is open for hours',
    reason: 'It holds back every vacuum, and whoever reads behind it: lag without a cause one can see.',
    fix: 'Find it in pg_stat_activity and end it; set idle_in_transaction_session_timeout.',
    judge: ({ oldestTransactionSeconds }) =>
      oldestTransactionSeconds > oldTransactionSeconds
        ? `the oldest transaction is open for ${durationText(Math.round(oldestTransactionSeconds) * 1_000)}`
        : null,
  },
  {
    id: 'OW417',
    severity: 'error',
    title: 'The database is the copy that people accepted',
    reason:
      'A promoted standby or a restored backup may lack what was committed and settled before. Consumers halt until somebody has looked.',
    fix: 'See docs/operations.md, then run "onceward restore accept".',
    judge: ({ lifeAccepted }) =>
      lifeAccepted === false ? 'the server or the database is another copy than the one last accepted' : null,
  },
]
