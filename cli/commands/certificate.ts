import type { Command } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import { approvalTypes } from '../../api/kinds/certificate-signing-request/approval.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { secondsTimestamp, toRfc3339 } from '../../api/meta/time.ts';
import { typeName } from '../printers/type-name.ts';
import { describeFailure, ExitWith } from '../program/failure.ts';
import { type Session, withSession } from '../session.ts';

const verbs = {
  approve: {
    type: 'Approved',
    reason: 'BerthApprove',
    said: 'approved',
    description: 'Let certificates be signed that were asked for',
  },
  deny: { type: 'Denied', reason: 'BerthDeny', said: 'denied', description: 'Refuse certificates that were asked for' },
} as const;
type Verb = keyof typeof verbs;

export function registerCertificate(program: Command): void {
  const certificate = program.command('certificate').description('Approve or deny CertificateSigningRequests ("berth get csr")');
  for (const verb of Object.keys(verbs) as Verb[])
    certificate
      .command(verb)
      .description(verbs[verb].description)
      .argument('<name...>', 'the requests')
      .action(async (names: string[], _flags: object, command: Command) => {
        await withSession(command, (session) => answerAll(session, verb, names));
      });
}

const type = typeName(kindNamed('CertificateSigningRequest'));

async function answerAll(session: Session, verb: Verb, names: readonly string[]): Promise<void> {
  let failed = 0;
  for (const name of names.map((each) => each.replace(/^(csr|certificatesigningrequests?)\//, ''))) {
    try {
      process.stdout.write(`${type}/${name} ${await answer(session, verb, name)}\n`);
    } catch (error) {
      failed++;
      process.stderr.write(`error: ${type}/${name}: ${describeFailure(error)}\n`);
    }
  }
  if (failed > 0) throw new ExitWith(1);
}

/** Answers what became of it, for people. */
async function answer({ client }: Session, verb: Verb, name: string): Promise<string> {
  const requests = client.resource('CertificateSigningRequest');
  const { metadata, status } = await requests.get({ name });
  const { type, reason, said } = verbs[verb];
  const before = status?.conditions?.find((each) => approvalTypes.includes(each.type ?? ''))?.type;
  if (before === type) return `${said} already`;
  if (before !== undefined)
    throw badRequest(`it was ${before.toLowerCase()} before, which cannot be changed: the requester can make a new request`);
  const now = toRfc3339(secondsTimestamp(new Date()));
  const condition = {
    ...{ type, status: 'True', reason, message: `${said} with "berth certificate ${verb}"` },
    ...{ lastUpdateTime: now, lastTransitionTime: now },
  };
  // Held to what was looked at.
  const { uid, resourceVersion } = metadata ?? {};
  await requests.patch(
    { name, subresource: 'approval', type: 'strategic' },
    { metadata: { uid, resourceVersion }, status: { conditions: [condition] } },
  );
  return said;
}
