export { MemoryLog, type MemoryLogMessage, type MemoryLogOptions } from './sources/memory/log.ts'
export { type MemoryMessage, MemoryQueue } from './sources/memory/source.ts'
export { MemoryStore, type MemoryTransaction } from './stores/memory/store.ts'
