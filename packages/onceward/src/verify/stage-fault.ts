import { setTimeout as sleep } from 'node:timers/promises'
import { expireLeases } from '../drivers/postgres/verify/scratch-copy.ts'
import type { ChildOrders } from './child/orders.ts'
import type { VerifiedProcess } from './child-pool.ts'
import { openCuttingProxy } from './cutting-proxy.ts'
import type { Fault } from './fault.ts'
import type { ScratchDatabase } from './scratch-databases.ts'

/** What a fault is staged on: one run with its database and its processes. */
export interface FaultStage {
  readonly database: ScratchDatabase
  start(change: Partial<ChildOrders>): VerifiedProcess
  /** Rejects when the time of the run is over, or a process ends that should not. */
  untilDecided(): Promise<void>
  /** The process is gone on purpose. */
  forget(process: VerifiedProcess): void
  /** Continues a stopped process. */
  wake(process: VerifiedProcess): void
  /** The process finishes what it has begun, and ends. */
  leave(process: VerifiedProcess): Promise<void>
  /** Restarts the server, or ends the sessions of the run's database where the server was given. */
  restartServer(): Promise<void>
  closeAtEnd(resource: { close(): void }): void
}

/** Runs the consumer until everything is decided. False if the fault's moment did not come. */
export async function stageFault(stage: FaultStage, fault: Fault | null): Promise<boolean> {
  switch (fault?.class) {
    case 'point':
    case 'statement':
      return killed(stage, fault)
    case 'freeze':
      return frozen(stage, fault)
    case 'moving':
      return moved(stage, fault)
    case 'restart':
      return restarted(stage, fault)
    case 'rollback':
    case 'commit':
      return cut(stage, fault)
    case 'processes':
      stage.start({ sizeMax: 2 })
      stage.start({ sizeMax: 2 })
      break
    default:
      stage.start({})
  }
  await stage.untilDecided()
  return true
}

/** False if everything was decided before the process reached the moment. */
function triggered(stage: FaultStage, process: VerifiedProcess): Promise<boolean> {
  return Promise.race([process.triggered.then(() => true), stage.untilDecided().then(() => false)])
}

async function killed(stage: FaultStage, { trigger }: Fault): Promise<boolean> {
  const victim = stage.start({ trigger, action: 'die' })
  if (!(await triggered(stage, victim))) return false
  await victim.ended
  stage.forget(victim)
  await expireLeases(stage.database.pool)
  stage.start({})
  await stage.untilDecided()
  return true
}

/** The process stops; its leases expire; another one works; then the first wakes and continues. */
async function frozen(stage: FaultStage, { trigger }: Fault): Promise<boolean> {
  const zombie = stage.start({ trigger, action: 'stop' })
  if (!(await triggered(stage, zombie))) return false
  await expireLeases(stage.database.pool)
  const other = stage.start({})
  await other.running
  // The other process may wait for locks of the frozen one, so the zombie wakes before all is decided.
  await Promise.race([stage.untilDecided(), sleep(freezeMs)])
  stage.wake(zombie)
  await stage.untilDecided()
  return true
}

/**
 * A second process joins while the first handles a message, and takes its partitions; the first leaves; a
 * third joins and the second leaves.
 */
async function moved(stage: FaultStage, { trigger }: Fault): Promise<boolean> {
  const first = stage.start({ trigger, action: 'stop' })
  if (!(await triggered(stage, first))) return false
  const second = stage.start({})
  await second.running
  stage.wake(first)
  await stage.leave(first)
  const third = stage.start({})
  await third.running
  await stage.leave(second)
  await stage.untilDecided()
  return true
}

async function restarted(stage: FaultStage, { trigger }: Fault): Promise<boolean> {
  const process = stage.start({ trigger, action: 'stop' })
  if (!(await triggered(stage, process))) return false
  await stage.restartServer()
  stage.wake(process)
  await stage.untilDecided()
  return true
}

async function cut(stage: FaultStage, { class: kind, number }: Fault): Promise<boolean> {
  const where = kind === 'commit' ? 'after commit' : 'before commit'
  const proxy = await openCuttingProxy(stage.database.url, where, number)
  stage.closeAtEnd(proxy)
  let happened = false
  void proxy.cut.then(() => {
    happened = true
  })
  stage.start({ databaseUrl: proxy.url })
  await stage.untilDecided()
  return happened
}

const freezeMs = 300
