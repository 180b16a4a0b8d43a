import { hostname } from 'node:os'

/** Names this process for people: in runs, leases and campaigns. */
export function instanceName(): string {
  return `${process.pid}@${hostname()}`
}
