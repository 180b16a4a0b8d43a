import type { DatabaseFacts } from '../../drivers/postgres/server/read-database.ts'

const onOff = /^(on|off)$/
/** What PostgreSQL reports for the settings that rules judge. */
const settingForms: Readonly<Record<string, RegExp>> = {
  fsync: onOff,
  full_page_writes: onOff,
  synchronous_commit: /^(on|off|local|remote_write|remote_apply)$/,
  default_transaction_isolation: /^(serializable|repeatable read|read committed|read uncommitted)$/,
  default_transaction_read_only: onOff,
  autovacuum: onOff,
  track_counts: onOff,
}

/**
 * Facts that a rule cannot judge: a server that is compatible with PostgreSQL, or something in between, left
 * them out or answered as PostgreSQL does not. The rules are silent about them, which must not look like a
 * pass.
 */
export function oddAnswers({
  settings,
  versionNumber,
  versionText,
  inRecovery,
  clockMs,
}: DatabaseFacts): string[] {
  const odd = Object.entries(settingForms).flatMap(([name, form]) => {
    const value = settings[name]
    if (value === undefined) return [`the server reports no ${name}`]
    return form.test(value)
      ? []
      : [`the server reports ${name} as ${JSON.stringify(String(value).slice(0, 60))}`]
  })
  const major = Math.floor(versionNumber / 10_000)
  if (
    !Number.isInteger(versionNumber) ||
    !new RegExp(`^PostgreSQL ${major}(\\D|$)`).test(String(versionText))
  )
    odd.push(
      `the server says that its version is ${versionNumber}, and that it is ${JSON.stringify(String(versionText).slice(0, 60))}`,
    )
  if (typeof inRecovery !== 'boolean') odd.push('the server does not say whether it is in recovery')
  if (!Number.isFinite(clockMs)) odd.push('the server reports no time')
  return odd
}
