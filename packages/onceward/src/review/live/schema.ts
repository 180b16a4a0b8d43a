import type { Consumer } from '../../contract/define-consumer.ts'
import { errorText } from '../../errors.ts'
import type { Finding } from '../rule.ts'
import { silentServer } from '../rules/itself.ts'
import { schemaRules } from '../rules/schema.ts'
import { aboutServer, type Checked, judgeAll, type LiveAccess } from './access.ts'
import { within } from './within.ts'

/** Compares each contract whose codec reads by a registry with the subject of its messages. */
export async function checkSchemas(all: readonly Checked[], access: LiveAccess): Promise<readonly Finding[]> {
  const found = await Promise.all(all.map(one => checkOne(one, access)))
  return found.flat()
}

async function checkOne({ consumer, file }: Checked, access: LiveAccess): Promise<readonly Finding[]> {
  const { codec } = consumer.message
  if (codec.compare === undefined) return []
  const { nextSchema: next = null } = access
  const stop = new AbortController()
  try {
    const request = { origin: originOf(consumer), next, signal: stop.signal }
    const comparison = await within(access, codec.compare(request), () => stop.abort())
    const subject = { comparison, next: next !== null }
    return judgeAll(schemaRules, subject, { consumer: consumer.name, place: file })
  } catch (error) {
    return aboutServer(silentServer, errorText(error, 500), `schema registry of ${codec.name}`, consumer.name)
  }
}

/** The topic, queue, stream or file. */
function originOf({ source }: Consumer): string {
  const { topic, queue, stream, path } = source as unknown as Readonly<Record<string, unknown>>
  return String(topic ?? queue ?? stream ?? path ?? '')
}
