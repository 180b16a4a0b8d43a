import { randomBytes } from 'node:crypto'
import type { BrokerIdentity, BrokerMarks } from '../../ports/source.ts'
import type { SqlClient } from './pool.ts'

/** The cluster behind a connection. */
export interface Recognised {
  /** The name it was first reached under. */
  readonly cluster: string
  /**
   * `none`: a new node name, with neither a mark nor a configured cluster name as proof. `new`: the cluster
   * was never reached before.
   */
  readonly proof: 'mark' | 'name' | 'none' | 'new'
  /**
   * Records the name, and a mark if there is none yet. False if another process has recorded something since:
   * recognise again.
   */
  keep(): Promise<boolean>
}

interface Known {
  readonly cluster: string
  readonly names: readonly string[]
  /** By virtual host; null if no mark could be declared. */
  readonly marks: ReadonlyMap<string, string | null>
}

const readNames = 'select cluster, announced from onceward.cluster_name where kind = $1 order by first_at'
const readMarks = 'select cluster, virtual_host, mark from onceward.cluster_mark where kind = $1'
const noteCluster = 'select onceward.register_cluster($1, $2, $3, $4, $5, $6) as noted'

/** Without a configured cluster name, each RabbitMQ node announces its own name. */
export function isNodeName(name: string): boolean {
  return name.includes('@')
}

/**
 * The cluster that a connection reached. The cluster id of Kafka is the same on every node. RabbitMQ
 * announces a name, by AMQP and by the stream protocol alike, but no id. A mark in the virtual host therefore
 * decides, for any node name:
 *
 *   the mark is there ──▶ the same cluster      it is not ──▶ another one, also under the same name
 *   no mark in this virtual host yet ──▶ by name, and by the marks in other virtual hosts of this user
 *
 * A configured cluster name is compared too: definitions that were copied to another cluster include the
 * mark.
 */
export async function recogniseCluster(client: SqlClient, broker: BrokerIdentity): Promise<Recognised> {
  const { kind, cluster: name, virtualHost = '', marks } = broker
  if (marks === undefined) return { cluster: name, proof: 'name', keep: async () => true }
  const { all, seen } = await readKnown(client, kind)
  const found = await compare(all, name, virtualHost, marks)
  const cluster = found?.known.cluster ?? freeName(name, all)
  const keep = async () => {
    if (found?.proof === 'none') return true
    const mark = found?.known.marks.get(virtualHost) ?? null
    if (mark !== null && found!.known.names.includes(name)) return true
    const added = mark ?? (await putMark(marks))
    const { rows } = await client.query(noteCluster, [kind, cluster, name, virtualHost, added, seen])
    return rows[0].noted
  }
  return { cluster, proof: found?.proof ?? 'new', keep }
}

interface Found {
  readonly known: Known
  readonly proof: 'mark' | 'name' | 'none'
}

async function compare(
  all: readonly Known[],
  name: string,
  virtualHost: string,
  marks: BrokerMarks,
): Promise<Found | null> {
  const byName = all.toSorted((a, b) => Number(b.names.includes(name)) - Number(a.names.includes(name)))
  // An earlier version left no marks: the first cluster that connects counts as the known one.
  const unmarked = all.every(known => known.marks.size === 0)
  const unproven: Found[] = []
  for (const known of byName) {
    const same = known.names.includes(name)
    if (!same && !isNodeName(name) && known.names.some(one => !isNodeName(one))) continue
    const has = await hasMark(known, virtualHost, marks, same)
    if (has === true) return { known, proof: 'mark' }
    if (has === false) continue
    if (same) unproven.push({ known, proof: 'name' })
    else if (isNodeName(name) && known.names.every(isNodeName))
      unproven.push({ known, proof: unmarked ? 'name' : 'none' })
  }
  return unproven[0] ?? null
}

/** Null if no mark can decide. */
async function hasMark(
  known: Known,
  virtualHost: string,
  marks: BrokerMarks,
  sameName: boolean,
): Promise<boolean | null> {
  const mark = known.marks.get(virtualHost)
  if (mark !== undefined) return mark === null ? null : marks.has(mark)
  if (sameName || known.marks.size === 0) return null
  for (const [host, one] of known.marks)
    if (one !== null && (await marks.hasIn?.(host, one)) === true) return true
  // In a new virtual host, a new node name counts as another cluster.
  return false
}

async function readKnown(client: SqlClient, kind: string): Promise<{ all: Known[]; seen: number }> {
  const { rows: names } = await client.query(readNames, [kind])
  const { rows: marks } = await client.query(readMarks, [kind])
  const all = [...Map.groupBy(names, row => row.cluster as string)].map(([cluster, rows]) => ({
    cluster,
    names: rows.map(row => row.announced as string),
    marks: new Map(marks.filter(row => row.cluster === cluster).map(row => [row.virtual_host, row.mark])),
  }))
  return { all, seen: names.length + marks.filter(row => row.mark !== null).length }
}

/**
 * A process that crashes before it has recorded the mark leaves an unused exchange; the next one declares
 * another.
 */
async function putMark(marks: BrokerMarks): Promise<string | null> {
  const mark = `onceward.cluster.${randomBytes(8).toString('hex')}`
  return (await marks.put(mark)) ? mark : null
}

function freeName(name: string, all: readonly Known[]): string {
  const isTaken = (one: string) => all.some(({ cluster }) => cluster === one)
  let free = name
  for (let number = 2; isTaken(free); number++) free = `${name}~${number}`
  return free
}
