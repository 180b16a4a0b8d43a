import { queueScenes } from './queue-scenes.ts'

await queueScenes('4.3')
