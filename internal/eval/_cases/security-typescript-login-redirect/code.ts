import { timingSafeEqual } from "node:crypto";
import type { Request, Response } from "express";

import { hashPassword, issueSession } from "./sessions";
import { findUser } from "./users";

const HOME = "/dashboard";

/** The page to return to; only pages of this site are taken. */
function nextPage(req: Request): string {
  const next = req.query.next;
  if (typeof next !== "string") {
    return HOME;
  }
  if (!next.startsWith("/")) {
    return HOME;
  }
  return next;
}

function samePassword(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

/** POST /login */
export async function login(req: Request, res: Response): Promise<void> {
  const { email, password } = req.body ?? {};
  if (typeof email !== "string" || typeof password !== "string") {
    res.status(400).send("e-mail and password are needed");
    return;
  }
  const user = await findUser(email);
  const salt = user?.salt ?? "no-such-user";
  const given = await hashPassword(password, salt);
  if (!user || !samePassword(given, user.passwordHash)) {
    res.status(401).send("e-mail or password is wrong");
    return;
  }
  await issueSession(res, user.id);
  res.redirect(303, nextPage(req));
}
