import { randomBytes } from 'node:crypto'
import type { BrokerIdentity, BrokerMarks } from '../../ports/source.ts'
import type { SqlClient } from './pool.ts'

/** The cluster behind a connection. */
export interface Recognised {
  /** The name it was first reached under. */
  readonly cluster: string
  /**
   * `none`: a node's name that is new, where neither a mark nor a set cluster name can tell. `new`: it was
   * never reached before.
   */
  readonly proof: 'mark' | 'name' | 'none' | 'new'
  /**
   * Notes the name, and a mark where there is none yet. False when another process has noted something since:
   * recognise again.
   */
  keep(): Promise<boolean>
}

interface Known {
  readonly cluster: string
  readonly names: readonly string[]
  /** By virtual host; null where none could be declared. */
  readonly marks: ReadonlyMap<string, string | null>
}

const readNames = 'select cluster, announced from onceward.cluster_name where kind = $1 order by first_at'
const readMarks = 'select cluster, virtual_host, mark from onceward.cluster_mark where kind = $1'
const noteCluster = 'select onceward.register_cluster($1, $2, $3, $4, $5, $6) as noted'

/** Unless somebody set a cluster name, each node of RabbitMQ announces its own. */
export function isNodeName(name: string): boolean {
  return name.includes('@')
}

/**
 * Which cluster a connection reached. Kafka's cluster id is the same on every node. RabbitMQ announces a
 * name, by AMQP and by the stream protocol alike, and no id; so a mark in the virtual host decides, whatever
 * the node calls itself:
 *
 *   the mark is there ──▶ the same cluster      it is not ──▶ another one, also under the same name
 *   no mark in this virtual host yet ──▶ by name, and by the marks in other virtual hosts that this user may enter
 *
 * A set cluster name is compared too: definitions that were copied to another cluster bring the mark along.
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
  // Of the version before nothing is marked: the first that comes is taken for the one that was known.
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

/** Null where no mark can tell. */
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
  // In a virtual host that is new, a node's name that is new counts as another cluster.
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
 * A process that dies before it has noted the mark leaves an exchange that nobody looks for; the next one
 * declares another.
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
