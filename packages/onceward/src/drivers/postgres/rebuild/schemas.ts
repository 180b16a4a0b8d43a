/** Where a rebuild keeps its tables until they are swapped in, and where the old ones wait afterwards. */
export const shadowSchema = (campaignId: string) => `onceward_shadow_${campaignId}`
export const oldSchema = (campaignId: string) => `onceward_old_${campaignId}`

export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
