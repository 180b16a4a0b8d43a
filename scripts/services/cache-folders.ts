import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { withExclusiveLock } from '../bootstrap/exclusive-lock.mjs'
import { atOffset } from './port-offset.ts'
import type { Log } from './service.ts'

export function cacheFolder(): string {
  const { ONCEWARD_CACHE_DIR, XDG_CACHE_HOME } = process.env
  if (ONCEWARD_CACHE_DIR) return resolve(ONCEWARD_CACHE_DIR)
  return join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'onceward')
}

/** Things fetched once and never written to again: jars, system roots. */
export const downloadFolder = (name: string) => join(cacheFolder(), 'downloads', name)

export const stateFolder = () => join(cacheFolder(), atOffset('run'))

/** State of a running service: data, logs, configuration, pid file. */
export function runFolder(name: string): string {
  const folder = join(stateFolder(), name)
  mkdirSync(folder, { recursive: true })
  return folder
}

export function whileLocked<T>(name: string, log: Log, work: () => Promise<T>): Promise<T> {
  const path = join(cacheFolder(), 'run', `${name}.lock`)
  return withExclusiveLock(path, work, pid => log(`${name}: process ${pid} is busy with it; waiting …`))
}

/** Builds into `<folder>.partial` and renames at the end: a folder that exists is complete. */
export async function buildOnce(folder: string, build: (partial: string) => Promise<void>): Promise<void> {
  if (existsSync(folder)) return
  const partial = `${folder}.partial`
  rmSync(partial, { recursive: true, force: true })
  mkdirSync(dirname(folder), { recursive: true })
  mkdirSync(partial)
  await build(partial)
  renameSync(partial, folder)
}
