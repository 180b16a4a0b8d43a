/**
 * Pure. How long a record may stay readable by its topic's configuration; Infinity when for ever. Whole
 * segments are removed, once their newest record is old enough: so a record lives as long as the retention
 * and the time until its segment was closed.
 */
export function recordLifeMs(configs: ReadonlyMap<string, string>): number {
  const retentionMs = Number(configs.get('retention.ms') || Number.NaN)
  const deletes = (configs.get('cleanup.policy') ?? '').split(',').includes('delete')
  if (!deletes || !(retentionMs >= 0)) return Number.POSITIVE_INFINITY
  return retentionMs + Number(configs.get('segment.ms') || 0)
}
