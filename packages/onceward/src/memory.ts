export { type MemoryMessage, MemoryQueue } from './sources/memory/source.ts'
export { MemoryStore, type MemoryTransaction } from './stores/memory/store.ts'
