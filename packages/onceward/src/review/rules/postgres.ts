import { durationText } from '../../contract/duration.ts'
import type { DatabaseFacts } from '../../drivers/postgres/server/read-database.ts'
import type { Rule } from '../rule.ts'

/** A database, and this process's clock when it was read. */
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
    reason: 'The schema uses features that older versions lack; no process starts on them.',
    fix: 'Upgrade the server.',
    judge: ({ versionNumber }) =>
      versionNumber < versionMin ? `the server is version ${versionNumber}` : null,
  },
  {
    id: 'OW402',
    severity: 'error',
    title: 'Commits reach the disk',
    reason: 'With fsync off a power failure can lose or damage messages that were acknowledged.',
    fix: 'Set fsync = on and restart the server.',
    judge: ({ settings }) => (settings.fsync === 'off' ? 'fsync is off' : null),
  },
  {
    id: 'OW403',
    severity: 'error',
    title: 'Torn pages can be repaired',
    reason: 'With full_page_writes off a crash during a page write leaves the page damaged.',
    fix: 'Set full_page_writes = on.',
    judge: ({ settings }) => (settings.full_page_writes === 'off' ? 'full_page_writes is off' : null),
  },
  {
    id: 'OW404',
    severity: 'error',
    title: 'A confirmed commit is durable',
    reason:
      'The consumer acknowledges after the commit. With synchronous_commit off a crash loses commits whose messages the broker no longer has.',
    fix: 'Set synchronous_commit = on for this role and database.',
    judge: ({ settings }) => (settings.synchronous_commit === 'off' ? 'synchronous_commit is off' : null),
  },
  {
    id: 'OW405',
    severity: 'error',
    title: 'The address leads to the primary',
    reason: 'A standby accepts no writes, and its data may be old.',
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
      'Onceward sets its isolation level itself; other transactions of this login do not. Stricter levels fail under load and must be repeated.',
    fix: "Set default_transaction_isolation = 'read committed' for this role.",
    judge: ({ settings }) =>
      (settings.default_transaction_isolation ?? 'read committed') === 'read committed'
        ? null
        : `default_transaction_isolation is ${settings.default_transaction_isolation}`,
  },
  {
    id: 'OW407',
    severity: 'error',
    title: 'The pooler keeps a transaction on one connection',
    reason:
      'A pooler in statement mode spreads the statements of a transaction, so marker and effect cannot commit together.',
    fix: 'Set pool_mode to transaction or session, or connect directly.',
    judge: ({ pooling }) => (pooling === 'statement' ? 'a pooler in statement mode is in between' : null),
  },
  {
    id: 'OW408',
    severity: 'note',
    title: 'A pooler in transaction mode is known',
    reason:
      'In transaction mode everything works, but notifications do not arrive: queues on PostgreSQL are polled. Settings that other clients SET stay on the connections.',
    fix: 'None needed; use a direct address where latency matters.',
    judge: ({ pooling }) => (pooling === 'transaction' ? 'a pooler in transaction mode is in between' : null),
  },
  {
    id: 'OW409',
    severity: 'error',
    title: 'Autovacuum is on for our tables',
    reason:
      'Without it tables with many short-lived rows grow without bound, and finally the server stops to protect its transaction ids.',
    fix: 'Turn autovacuum and track_counts on, and reset autovacuum_enabled of the table.',
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
    reason: 'Dead rows are read and cached with the live ones: inserting markers and purging become slow.',
    fix: 'Find long transactions and replication slots that hold dead rows; then vacuum the table.',
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
    reason: 'Due times and leases use the database’s clock; people compare them with their own.',
    fix: 'Synchronise both with NTP.',
    judge: subject =>
      skewMs(subject) > skewWarnMs && skewMs(subject) <= skewMaxMs ? skewText(subject) : null,
  },
  {
    id: 'OW412',
    severity: 'error',
    title: 'Clocks are not an hour apart',
    reason:
      'One of the dates is wrong, so retention removes nothing: with a wrong date it would remove too much.',
    fix: 'Correct the clocks, then restart the processes.',
    judge: subject => (skewMs(subject) > skewMaxMs ? skewText(subject) : null),
  },
  {
    id: 'OW413',
    severity: 'error',
    title: 'The login has the rights of a consumer',
    reason: 'The first batch would fail on a missing right, and the consumer would halt.',
    fix: 'Run select onceward.create_roles() as owner, then grant onceward_run to the login.',
    judge: ({ missingRights, role }) =>
      missingRights.length === 0
        ? null
        : `${role} has no right to ${missingRights.slice(0, 4).join(', ')}${missingRights.length > 4 ? ` and ${missingRights.length - 4} more` : ''}`,
  },
  {
    id: 'OW414',
    severity: 'warning',
    title: 'The login is not a superuser',
    reason: 'Approvals and the audit do not bind a superuser.',
    fix: 'Run consumers under a login in role onceward_run.',
    judge: ({ superuser, role }) => (superuser ? `${role} is a superuser` : null),
  },
  {
    id: 'OW415',
    severity: 'error',
    title: 'The schema fits this version',
    reason: 'Consumers refuse to start on a schema that is missing, too old or too new.',
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
    reason: 'It blocks vacuum and every reader behind it: lag without a visible cause.',
    fix: 'Find it in pg_stat_activity and end it; set idle_in_transaction_session_timeout.',
    judge: ({ oldestTransactionSeconds }) =>
      oldestTransactionSeconds > oldTransactionSeconds
        ? `the oldest transaction is open for ${durationText(Math.round(oldestTransactionSeconds) * 1_000)}`
        : null,
  },
  {
    id: 'OW417',
    severity: 'error',
    title: 'An operator has accepted this incarnation of the database',
    reason:
      'A promoted standby or a restored backup may lack commits whose messages were acknowledged. Consumers halt until an operator has checked.',
    fix: 'See docs/operations.md, then run "onceward restore accept".',
    judge: ({ incarnationAccepted }) =>
      incarnationAccepted === false
        ? 'the server or the database is another copy than the one last accepted'
        : null,
  },
]
