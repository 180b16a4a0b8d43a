import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import type { Connection } from '../../../src/drivers/kafka/client/wire.ts'

/** Argument: a folder in which a version of the client is installed. Prints what our code sends with it. */
const [folder] = process.argv.slice(2)
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === '@platformatic/kafka' && folder !== undefined
      ? next(specifier, { ...context, parentURL: pathToFileURL(`${folder}/from-here.js`).href })
      : next(specifier, context),
})
const { sampleRequests, sampleValues } = await import('./sample-requests.ts')

const sent: Record<string, unknown> = {}
for (const [name, call] of Object.entries(sampleRequests)) {
  const send = (
    key: number,
    version: number,
    create: () => { buffer: Buffer },
    parse: unknown,
    requestTags: boolean,
    responseTags: boolean,
    callback: unknown,
  ) => {
    const shape = [typeof parse, typeof callback]
    sent[name] = { key, version, requestTags, responseTags, shape, bytes: create().buffer.toString('hex') }
  }
  // The answer never comes; nothing waits for it.
  void call({ send } as unknown as Connection).catch((error: unknown) => {
    sent[name] = String(error)
  })
}
process.stdout.write(JSON.stringify({ sent, values: sampleValues() }))
