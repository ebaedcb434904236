import { join } from 'node:path';
import type { Logger } from 'pino';
import { Audit } from './audit.ts';
import { openAuditFile } from './audit-file.ts';
import { defaultPolicy, readPolicy } from './policy.ts';

export interface OpenAuditOptions {
  readonly dataDir: string;
  /** The user's policy; absent: the default policy. */
  readonly policyFile?: string | undefined;
  readonly log: Logger;
}

export interface OpenedAudit {
  readonly audit: Audit;
  /** Writes what waits. */
  close(): Promise<void>;
}

/** Where the log of a data directory is; the ones before have .1, .2 ... behind their name. */
export function auditPath(dataDir: string): string {
  return join(dataDir, 'logs', 'audit.log');
}

/** Reads the policy and begins the log. Throws a sentence about what is wrong with the policy. */
export async function openAudit({ dataDir, policyFile, log }: OpenAuditOptions): Promise<OpenedAudit> {
  const policy = policyFile === undefined ? defaultPolicy : await readPolicy(policyFile);
  const file = openAuditFile({ path: auditPath(dataDir), log });
  const audit = new Audit(policy, file, () => new Date());
  const close = (): Promise<void> => {
    audit.tellLeftOut();
    return file.close();
  };
  return { audit, close };
}
