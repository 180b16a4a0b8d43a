export { type FileDeclaration, type FileOptions, file } from './declaration.ts'
export { createFileSource, type FileSourceOptions } from './source.ts'
