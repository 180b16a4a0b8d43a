/** The schema of rebuilt tables before the swap, and of the old tables after it. */
export const shadowSchema = (campaignId: string) => `onceward_shadow_${campaignId}`
export const oldSchema = (campaignId: string) => `onceward_old_${campaignId}`

export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
