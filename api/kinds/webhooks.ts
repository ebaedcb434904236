import { duplicate, invalidValue, notSupported, required } from '../errors/violations.ts';
import type { MutatingWebhook, ServiceReference, ValidatingWebhook, WebhookClientConfig } from '../generated/types.ts';
import { hasCertificate } from '../meta/authority.ts';
import { labelNameError, subdomainNameError } from '../meta/names.ts';
import { checkMatchConditions, checkRuleWithOperations } from './admission-rules.ts';
import { checkOneOf, checkPort, checkRange, checkRequired, checkRule, type Violations } from './checks.ts';
import { checkFailurePolicy, checkSelection, defaultSelection } from './match-resources.ts';

/** What webhooks of both kinds have. */
type Webhook = MutatingWebhook | ValidatingWebhook;

const SIDE_EFFECTS = ['None', 'NoneOnDryRun'];
/** The version of AdmissionReview that the server speaks. */
const REVIEW_VERSION = 'v1';

export function defaultWebhook(webhook: Webhook): void {
  webhook.failurePolicy ||= 'Fail';
  webhook.timeoutSeconds ??= 10;
  defaultSelection(webhook, webhook.rules ?? []);
  if (webhook.clientConfig?.service) webhook.clientConfig.service.port ??= 443;
}

/** Kubernetes' rules, but that "v1" is among the versions. */
export function checkWebhooks(out: Violations, webhooks: readonly Webhook[]): void {
  const names = new Set<string>();
  for (const [i, webhook] of webhooks.entries()) {
    const at = `webhooks[${i}]`;
    const { name = '' } = webhook;
    checkName(out, `${at}.name`, name);
    if (names.has(name)) out.push(duplicate(`${at}.name`, name));
    names.add(name);
    checkWebhook(out, at, webhook);
  }
}

function checkName(out: Violations, at: string, name: string): void {
  if (name === '') out.push(required(at));
  else if (subdomainNameError(name) !== undefined) checkRule(out, at, '', name, subdomainNameError(name));
  else if (name.split('.').length < 3)
    out.push(invalidValue(at, name, 'must be a domain with at least three parts, as "pods.example.com"'));
}

function checkWebhook(out: Violations, at: string, webhook: Webhook): void {
  const { clientConfig = {}, rules = [], sideEffects, timeoutSeconds } = webhook;
  checkClientConfig(out, `${at}.clientConfig`, clientConfig);
  for (const [i, rule] of rules.entries()) checkRuleWithOperations(out, `${at}.rules[${i}]`, rule);
  checkFailurePolicy(out, at, webhook.failurePolicy);
  checkSelection(out, at, webhook);
  checkRequired(out, at, '.sideEffects', sideEffects);
  checkOneOf(out, at, '.sideEffects', sideEffects, SIDE_EFFECTS);
  checkRange(out, at, '.timeoutSeconds', timeoutSeconds, 1, 30);
  checkVersions(out, `${at}.admissionReviewVersions`, webhook.admissionReviewVersions ?? []);
  checkMatchConditions(out, `${at}.matchConditions`, webhook.matchConditions ?? []);
}

function checkVersions(out: Violations, at: string, versions: readonly string[]): void {
  if (versions.length === 0) out.push(required(at, `"${REVIEW_VERSION}" at least`));
  for (const [i, version] of versions.entries()) {
    checkRule(out, at, `[${i}]`, version, labelNameError(version));
    if (versions.indexOf(version) < i) out.push(duplicate(`${at}[${i}]`, version));
  }
  if (versions.length > 0 && !versions.includes(REVIEW_VERSION))
    out.push(notSupported(at, versions.join(', '), [REVIEW_VERSION]));
}

/** Where a webhook is: Kubernetes' rules. */
export function checkClientConfig(out: Violations, at: string, { url, service, caBundle }: WebhookClientConfig): void {
  if (!url && !service) out.push(required(at, 'exactly one of url and service'));
  if (url && service) out.push(invalidValue(at, 'url, service', 'exactly one of url and service is required'));
  if (url) checkUrl(out, `${at}.url`, url);
  if (service) checkService(out, `${at}.service`, service);
  // Manifests that a program fills in later say a line break.
  const authorities = Buffer.from(caBundle ?? []).toString('latin1');
  if (authorities.trim() !== '' && !hasCertificate(authorities))
    out.push(invalidValue(`${at}.caBundle`, `${authorities.length} bytes`, 'must be certificates as PEM, encoded as base64'));
}

function checkUrl(out: Violations, at: string, text: string): void {
  const wrong = (why: string): void => void out.push(invalidValue(at, text, why));
  const url = URL.parse(text);
  if (!url) {
    wrong('must be a URL, as "https://example.com/validate"');
    return;
  }
  if (url.protocol !== 'https:') wrong('must begin with "https://"');
  if (url.hostname === '') wrong('must have a host');
  if (url.username || url.password) wrong('must have no user');
  if (text.includes('#')) wrong('must have no fragment');
  if (text.includes('?')) wrong('must have no query');
}

function checkService(out: Violations, at: string, { namespace, name, path, port }: ServiceReference): void {
  checkRequired(out, at, '.namespace', namespace);
  checkRequired(out, at, '.name', name);
  checkPort(out, at, '.port', port);
  if (!path || path === '/') return;
  if (!path.startsWith('/')) out.push(invalidValue(`${at}.path`, path, 'must begin with "/"'));
  for (const step of path.replace(/^\//, '').replace(/\/$/, '').split('/')) {
    const why = step === '' ? 'must not have empty steps' : subdomainNameError(step);
    if (why) out.push(invalidValue(`${at}.path`, path, why));
  }
}
