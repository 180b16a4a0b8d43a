import { after } from 'node:test'
import { deliveryConformance, type StoreFactory, storeConformance } from 'onceward/testing'
import { memoryLog, memorySource } from '../conformance/memory.ts'
import { type Database, openDatabase, postgresSource, readers } from '../conformance/postgres.ts'
import { kyselyLibrary, type Library, libraries, type Opened } from './libraries.ts'

const database = await openDatabase()
const opened: Opened<unknown>[] = []
after(async () => {
  await Promise.all(opened.map(one => one.close()))
  await database.close()
})

for (const library of libraries) {
  const store = storeOf(library, database)
  storeConformance(`the store on ${library.name}`, store)
  deliveryConformance(`memory queue × ${library.name}`, { source: memorySource, store })
}
const store = storeOf(kyselyLibrary, database)
deliveryConformance('PostgreSQL queue × Kysely', { source: postgresSource(database), store })
deliveryConformance('memory log × Kysely', { source: memoryLog, store })

function storeOf<Tx>(library: Library<Tx>, { url, unavailable, outside }: Database): StoreFactory<Tx> {
  const [first, second] = [library.open(url), library.open(url)]
  opened.push(first, second)
  return {
    unavailable,
    create: async () => ({
      store: first.store,
      second: second.store,
      apply: async (tx, key) => void (await library.write(tx, key)),
      fail: async tx => void (await library.send(tx, 'select 1 / 0')),
      ...(await readers(outside)),
      close: async () => {},
    }),
  }
}
