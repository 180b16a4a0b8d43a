/**
 * Pure. How long a record may stay readable under its topic's configuration; Infinity when it is never
 * deleted. Kafka deletes whole segments once their newest record is old enough. A record therefore stays for
 * the retention plus the time until its segment was closed.
 */
export function recordRetentionMs(configs: ReadonlyMap<string, string>): number {
  const retentionMs = Number(configs.get('retention.ms') || Number.NaN)
  const deletes = (configs.get('cleanup.policy') ?? '').split(',').includes('delete')
  if (!deletes || !(retentionMs >= 0)) return Number.POSITIVE_INFINITY
  return retentionMs + Number(configs.get('segment.ms') || 0)
}
