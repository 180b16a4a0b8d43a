import { RegistryServer } from '../../packages/onceward/test/schema/registry-server.ts'

/** A registry in memory, for a machine that has none. Ends with the process. */
const registry = await new RegistryServer(8081).start()
console.log(`SCHEMA_REGISTRY_URL=${registry.url}`)
