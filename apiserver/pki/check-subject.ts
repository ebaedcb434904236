import { nodeClientSigner } from '../../api/kinds/certificate-signing-request/signers.ts';
import { subdomainNameError } from '../../api/meta/names.ts';
import { groups, nodeUser } from '../authn/identity.ts';
import type { CertifiedSubject } from './certificate-facts.ts';

const nodePrefix = nodeUser('');

/**
 * Whether a signer may give a certificate to this subject, independent of its approver: one signer makes nodes and
 * nothing else, the other no identity of the system. Throws an Error that says what is wrong.
 */
export function checkSubject(signer: string, { commonNames, organizations, others }: CertifiedSubject): void {
  const [user = ''] = commonNames;
  if (user === '') throw new Error('the common name, which is the user, is empty');
  if (commonNames.length > 1) throw new Error(`there is more than one common name: ${commonNames.join(', ')}`);
  if (signer === nodeClientSigner) {
    const rule = user.startsWith(nodePrefix) ? subdomainNameError(user.slice(nodePrefix.length)) : 'is not system:node:NAME';
    if (rule) throw new Error(`the common name "${user}" ${rule}`);
    if (organizations.length !== 1 || organizations[0] !== groups.nodes || others.length > 0)
      throw new Error(`the certificate of a node is of the organization ${groups.nodes}, and of nothing else`);
    return;
  }
  if (organizations.includes(groups.masters))
    throw new Error(`no request may ask for a certificate of the group ${groups.masters}`);
  const own = [user, ...organizations].find((name) => name.startsWith('system:'));
  if (own !== undefined) throw new Error(`"${own}" is a name of the system's own`);
}
