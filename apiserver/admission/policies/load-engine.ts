export type PolicyEngine = typeof import('./engine.ts');

let engine: PolicyEngine | undefined;

/** Loads what compiles and evaluates expressions: a server without policies and match conditions does without. */
export async function loadPolicyEngine(): Promise<PolicyEngine> {
  engine ??= await import('./engine.ts');
  return engine;
}
