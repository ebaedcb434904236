// A scheduler that stands by for others, as a process that a test can kill:
// `node scheduler-process.js DATA-DIRECTORY ADDRESS IDENTITY LEASE-SECONDS`.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from '../../client/index.ts';
import { runScheduler } from '../../scheduler/main.ts';

const [dataDir = '', address = '', identity, seconds] = process.argv.slice(2);
const read = (file: string): string => readFileSync(join(dataDir, 'pki', file), 'utf8');
const client = connect({ address, ca: read('ca.crt'), cert: read('scheduler.crt'), key: read('scheduler.key') });
const leaseDurationMs = Number(seconds) * 1000;
const leaderElection = { identity, leaseDurationMs, renewDeadlineMs: leaseDurationMs * 0.7, retryPeriodMs: leaseDurationMs / 8 };
await runScheduler({ client, leaderElection }, new AbortController().signal);
