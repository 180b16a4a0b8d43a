import type { Peer } from './peer.ts'

/** One module for each tool. A worker process loads only its own, so that no tool pays for another's code. */
const modules = {
  'pg-boss': async () => [(await import('./pg-boss.ts')).pgBoss],
  'graphile-worker': async () => (await import('./graphile-worker.ts')).graphileWorkers,
  bullmq: async () => (await import('./bullmq.ts')).bullmqs,
  dbos: async () => (await import('./dbos.ts')).dboses,
  'pg-transactional-outbox': async () => [
    (await import('./pg-transactional-outbox.ts')).pgTransactionalOutbox,
  ],
  'nestjs-rabbitmq': async () => [(await import('./nestjs-rabbitmq.ts')).nestjsRabbitmq],
  kafkajs: async () => [(await import('./kafkajs.ts')).kafkajs],
  onceward: async () => (await import('./onceward.ts')).oncewards,
} satisfies Record<string, () => Promise<readonly Peer[]>>

export type PeerModule = keyof typeof modules

export interface ListedPeer extends Peer {
  readonly module: PeerModule
}

/** Those whose name contains one of the given parts; all when the parts are null. */
export async function listPeers(named: readonly string[] | null): Promise<readonly ListedPeer[]> {
  const listed: ListedPeer[] = []
  for (const module of Object.keys(modules) as PeerModule[])
    for (const peer of await modules[module]()) listed.push({ ...peer, module })
  return listed.filter(({ name }) => named === null || named.some(part => name.includes(part)))
}

export async function loadPeer(module: string, name: string): Promise<Peer> {
  const load = modules[module as PeerModule] as (() => Promise<readonly Peer[]>) | undefined
  const peer = (await load?.())?.find(candidate => candidate.name === name)
  if (peer === undefined) throw new Error(`there is no peer ${name} in ${module}`)
  return peer
}
