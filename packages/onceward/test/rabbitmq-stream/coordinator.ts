import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * RabbitMQ writes the list of its Raft members a moment after the first stream was made. Killed before, it
 * starts without the coordinator of streams and serves none of them.
 */
export function coordinatorIsStored(folder: string): boolean {
  const lists = globSync('data/**/coordination/*/names.dets', { cwd: folder })
  return lists.some(list => readFileSync(join(folder, list)).includes('rabbit_stream_coordinator'))
}
