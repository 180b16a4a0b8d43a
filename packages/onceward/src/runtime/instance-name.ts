import { hostname } from 'node:os'

/** Name of this process in runs, leases and campaigns. */
export function instanceName(): string {
  return `${process.pid}@${hostname()}`
}
