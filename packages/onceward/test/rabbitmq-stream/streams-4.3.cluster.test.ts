import { streamScenes } from './stream-scenes.ts'

await streamScenes('4.3')
