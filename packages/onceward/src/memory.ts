export { MemoryLog, type MemoryLogMessage, type MemoryLogOptions } from './drivers/memory/log.ts'
export { type MemoryMessage, MemoryQueue } from './drivers/memory/source.ts'
export { MemoryStore, type MemoryTransaction } from './drivers/memory/store.ts'
