import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const readOr = (path, fallback) => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return fallback
  }
}

// A pid alone may be reused after a crash; field 22 of /proc/<pid>/stat tells lives apart where it exists.
const startTime = pid => {
  const stat = readOr(`/proc/${pid}/stat`, '')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
}

const isAlive = holder => {
  const [pid, started] = holder.split(' ')
  try {
    process.kill(Number(pid), 0)
  } catch (error) {
    if (error.code === 'ESRCH') return false
  }
  return startTime(pid) === started
}

// link() publishes the holder's name in one step: a lock that exists always says whose it is.
function tryTake(path, holder) {
  const mine = `${path}.${process.pid}`
  writeFileSync(mine, holder)
  try {
    linkSync(mine, path)
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    return false
  } finally {
    rmSync(mine, { force: true })
  }
}

/** Runs `work` while no other process holds the lock file; a lock whose holder died is taken over. */
export async function withExclusiveLock(path, work, onWait = () => {}) {
  mkdirSync(dirname(path), { recursive: true })
  const holder = `${process.pid} ${startTime(process.pid)}`
  for (let waited = 0; !tryTake(path, holder); waited++) {
    const current = readOr(path, holder)
    if (current !== holder && !isAlive(current) && readOr(path, holder) === current)
      rmSync(path, { force: true })
    else {
      if (waited === 0) onWait(current.split(' ')[0])
      await sleep(200)
    }
  }
  try {
    return await work()
  } finally {
    if (readOr(path, '') === holder) rmSync(path, { force: true })
  }
}
