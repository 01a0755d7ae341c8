/** All English texts of pages and mails, by page; the texts of every other language have the same members. */
export const en = {
  /** The tag by which dates, lists and numbers are formatted (BCP 47). */
  tag: "en-GB",
  /** What the language calls itself. */
  name: "English",
  frame: {
    /** Names the choice of languages. */
    language: "Language",
    /** Before the code of an error. */
    forSupport: "For support:",
    /** Before the host, at the foot. */
    youAreAt: "You are at",
    optional: "(optional)",
    /** On the button in the field of a password. */
    show: "Show",
    hide: "Hide",
    problem: "There is a problem",
    faultyTitle: (title: string) => `Error: ${title}`,
  },
  /** Links of a branding, at the foot of pages and mails. */
  branding: { support: "Support", terms: "Terms of service", privacy: "Privacy" },
  /** Words that several pages show. */
  words: {
    signIn: "Sign in",
    email: "E-mail address",
    password: "Password",
    newPassword: "New password",
    passwordHint: "At least 8 characters. A few words in a row are easy to remember and hard to guess.",
    code: "Code",
    /** Of a link in a mail. */
    staleLink: "This link no longer works",
    /** Before the e-mail address. */
    signedInAs: "You are signed in as",
    toAccount: "Go to your account",
    forgotten: "Forgot your password?",
    createAccount: "Create an account",
    backToSignIn: "Back to sign in",
    continue: "Continue",
    notNow: "Not now",
    yourAccount: "Your account",
    addPasskey: "Add a passkey",
    choosePassword: "Choose a new password",
    changePassword: "Change password",
    signOut: "Sign out",
    /** Before the resources that an access works with. */
    worksWith: "Works with",
  },
  client: {
    /** For an application whose name has no visible characters. */
    nameless: "An application without a name",
    /** A client to which an application may hand on its access. */
    agent: (name: string) => `${name} (agent)`,
    application: (name: string) => `${name} (application)`,
    /** Between the name of an application and its proved host. */
    from: "from",
    /** For screen readers, of a proved host. */
    verified: "verified",
    nameUnverified: "not verified",
    sendsBackTo: "Sends you back to",
    /** Between the host of the application and the host that the browser goes back to. */
    backTo: "back to",
    thisDevice: "this device",
    /** Of an application that asks for access with a code. */
    onADevice: "on another device",
    askedFrom: "Asked from address",
    otherDeviceCaution:
      "Another device or program gets this access. Deny it if you did not start this, or if somebody sent you the code or the link.",
    stages: { development: "Test version", staging: "Preview version" },
    deviceCaution: "The app runs on this device. Continue only if you just started it.",
    unverifiedCaution: "We have not verified who made this app. Continue only if you started this.",
  },
  /** The details of a scope without a description. */
  scopes: {
    firstPartyPermission: "A permission of the application itself.",
    permissionAt: (resources: string) => `A permission at ${resources}.`,
    /** Of several scopes. */
    firstPartyPermissions: "Permissions of the application itself.",
    permissionsAt: (resources: string) => `Permissions at ${resources}.`,
  },
  signIn: {
    /** For a user who is already signed in. */
    titleAgain: "Confirm that it is you",
    /** Before the name of the application that waits. */
    toContinueTo: "to continue to",
    newHere: "New here?",
    passkey: "Sign in with a passkey",
    passkeyFailed: "That did not work. Try again, or use your password.",
    /** After what was typed into a form came too late. */
    tooLate: "That took too long. Sign in again.",
    /** For an application that needs a sign-in of a certain class. */
    stronger: { mfa: "This app needs a second step besides your password, or a passkey.", phr: "This app needs a sign-in with a passkey." },
    /** Between the form and the buttons of other providers. */
    or: "or",
    continueWith: (title: string) => `Continue with ${title}`,
  },
  /** The second step of a sign-in. */
  secondFactor: {
    title: "Enter your code",
    lead: "Open your authenticator app and enter the code that it shows.",
    hint: "Six digits, or one of your recovery codes.",
    otherWay: "Sign in another way",
    lost: (host: string) => `You have neither the app nor a recovery code? Ask an administrator of ${host} to turn two-step sign-in off.`,
  },
  /** An authenticator app, on the security page. */
  authenticatorApp: {
    heading: "Two-step sign-in",
    text: "An authenticator app on your phone shows a code that we ask for after your password. Knowing the password is then not enough.",
    setUp: "Set up an authenticator app",
    since: "On since",
    codesLeft: (count: number) => (count === 1 ? "1 recovery code is left." : `${count} recovery codes are left.`),
    newPhone: "To use another phone, turn this off and set it up again.",
    newCodes: {
      title: "New recovery codes",
      text: "The codes that you have now stop working.",
      submit: "Make new codes",
    },
    remove: {
      title: "Turn off",
      text: "We no longer ask for a code at your sign-in, and your recovery codes stop working.",
      submit: "Turn off two-step sign-in",
    },
    title: "Set up two-step sign-in",
    scan: "Scan this code",
    scanText: "Use an authenticator app, such as the one in your password manager.",
    qrCode: "QR code with the key for your authenticator app",
    onThisDevice: "Open the app on this device",
    byHand: "Or enter this key by hand:",
    confirm: "Enter the code that the app shows",
    codeHint: "Six digits.",
    submit: "Turn on",
    /** Where an app waits in another session, such as the one before a new password. */
    over: "The set-up of your authenticator app was not completed. Begin it again.",
    replaced: "The set-up was begun again in another tab. Scan this code instead of the one before.",
    codesTitle: "Two-step sign-in is on",
    codes: "Your recovery codes",
    codesText:
      "Keep these codes where you can find them without your phone. Each works once in place of a code from the app. We cannot show them again, and earlier ones no longer work.",
    codesDone: "I have saved them",
  },
  /** For users who cannot sign in as strongly as is demanded of them. */
  setUp: {
    title: "Set up a stronger sign-in",
    needed: {
      mfa: "More than a password is needed here. Set up one of these; it takes a minute.",
      phr: "A sign-in with a passkey is needed here. Add one; it takes a minute.",
    },
  },
  /** Sign-in by another identity provider. */
  upstream: {
    failed: {
      title: (title: string) => `Sign-in with ${title} did not work`,
      denied: (title: string) => `You cancelled, or ${title} did not let you in. Nothing was changed.`,
      unreachable: (title: string) => `${title} cannot be reached at the moment. Try again in a few minutes, or sign in another way.`,
      refused: (title: string) => `We could not accept the answer from ${title}. Try again, or sign in another way.`,
      cannotConfirm: (title: string) => `${title} cannot confirm that it is you. Sign in another way.`,
      /** For a user who is signed in, and gets a fresh proof by signing in again. */
      signOutFirst: (title: string) =>
        `${title} cannot confirm that it is you while you are signed in. Sign in another way, or sign out first and then sign in with ${title}.`,
      disabled: (host: string) => `This account cannot sign in. Ask an administrator of ${host}.`,
      taken: (title: string) => `This ${title} account is already connected to another account here.`,
      /** For an account that was to be connected in a session that has ended. */
      sessionEnded: (title: string) =>
        `Your session has ended since, so ${title} was not connected. Sign in, and connect it under Security.`,
    },
    /** For an identity that is not linked to the account of its address. */
    linkFirst: {
      title: "You already have an account",
      text: (title: string) =>
        `${title} is not connected to your account here. Sign in to your account another way first, then connect ${title} under Security.`,
    },
    noAccount: {
      title: "No account is connected",
      text: (title: string) =>
        `No account here is connected to this ${title} account. If you have one, sign in another way, then connect ${title} under Security.`,
    },
    toSecurity: "Back to Security",
  },
  signUp: {
    title: "Create your account",
    lead: "One account for every application and agent that acts for you.",
    submit: "Create account",
    haveAccount: "Already have an account?",
    domains: (list: string) => `Use an address at ${list}.`,
    /** Where SIGN_UP does not let users open accounts by themselves. */
    noSignUp: {
      title: "You cannot sign up here by yourself",
      invited: (host: string) =>
        `An account at ${host} needs an invitation. Ask an administrator of ${host} to send you one by mail. If you have an account already, sign in.`,
      closed: (host: string) =>
        `The administrators of ${host} create all accounts themselves. Ask one of them for yours. If you have an account already, sign in.`,
    },
    /** After a verification link was used. */
    verified: {
      title: "Your address is confirmed",
      text: (email: string) => `${email} belongs to your account. You can close this page or continue.`,
    },
    /** After a verification link that is no longer valid. */
    staleLink: {
      text: "Such a link works once, for one day, and only the newest one works. If your address is confirmed, it stays confirmed.",
      sendAgain: "Send a new mail",
    },
    /** After signing up. */
    checkMail: {
      title: "Check your mail",
      text: (email: string) => `We have sent a message with a link to ${email}. Open the link within 24 hours to confirm the address.`,
      toSignIn: "Continue to sign in",
      sentAgain: (email: string) =>
        `If ${email} still has to be confirmed, a new message with a link is on its way there. Open the link within 24 hours.`,
      /** Before the button that asks for another mail. */
      noMessage: "No message after a few minutes, or has the link expired? Check your spam folder, or send it again.",
      sendAgain: "Send it again",
    },
  },
  invitation: {
    submit: "Open the account",
    setup: {
      title: "Create the first operator",
      lead: (host: string) => `This account will manage ${host}: users, applications, settings. You can appoint further operators later.`,
    },
    invited: {
      title: "Choose a password",
      lead: (host: string) => `You have been invited to ${host}. Your address is confirmed by this link; only a password is missing.`,
    },
    /** For an invited address whose user has signed up in another way since. */
    hasAccount: {
      title: "You already have an account",
      text: (email: string) => `There is an account with the address ${email} already. Sign in to it.`,
    },
    stale: {
      setup: (minutes: number) =>
        `Such a link works once, for ${minutes} minutes, and only while there is no operator. If there is still none, restart the server: it prints a new link.`,
      invited: (host: string) =>
        `An invitation works once, for a limited time, and only the newest one works. If you already have an account, sign in. If not, ask an administrator of ${host} for a new invitation.`,
    },
  },
  forgottenPassword: {
    lead: "Enter the e-mail address of your account. We will send you a link to choose a new password.",
    submit: "Send me the link",
    sent: {
      title: "Check your mail",
      text: "If there is an account with this address, we have sent it a link. The link works once, within 30 minutes.",
      nothingThere: "No message after a few minutes? Check your spam folder, and that this is the address you signed up with.",
    },
    choose: {
      title: "Choose a new password",
      lead: (email: string) => `For the account of ${email}. You will be signed out everywhere.`,
    },
    stale: {
      text: "Such a link works once, for 30 minutes, and only the newest one works. If you have chosen a new password with it, sign in.",
      again: "Send a new link",
    },
    changed: {
      title: "Your password has been changed",
      text: "You have been signed out everywhere. Sign in with the new password.",
    },
  },
  consent: {
    title: (name: string) => `Allow ${name}?`,
    /** After the name of the application. */
    asks: "asks for access",
    asksMore: "asks for more access",
    /** Everything was allowed before. */
    asksAgain: "asks for access again",
    otherAccount: "Use another account",
    able: "This will let it",
    ableAlso: "It now also wants to",
    known: "Already allowed",
    resources: "Works only with",
    howLong: "For how long",
    /** Of a client that gets no refresh token. */
    eachTime: (access: string) => `For ${access} after each sign-in.`,
    /** Of a client that gets refresh tokens: its longest duration, and the time without use after which it ends. */
    lasting: (most: string, idle: string) => `Until you remove it, for up to ${most}. Ends after ${idle} without use.`,
    isNew: "New",
    /** Of an agent among the resources. */
    mayAct: "Can act for you within what you allow here. It can hand tasks only to agents that are listed here too.",
    mayUse: "Can see what you allow here.",
    deny: "Deny",
    allow: "Allow",
    /** Before the link to the account page, which ends the sentence. */
    removable: "You can remove access at any time on",
    accountPage: "your account page",
  },
  device: {
    title: "Connect a device",
    lead: "Enter the code that your device or program shows.",
    /** When the code came with the link. */
    leadFilled: "Compare this code with the one that your device or program shows.",
    hint: "Eight letters, such as BCDF-GHJK.",
    caution: "Continue only if you started this yourself. Stop if somebody else sent you the code or the link.",
    approved: { title: "Device connected", text: "You can close this page and go back to your device." },
    denied: { title: "Access denied", text: "The device gets no access. You can close this page." },
    failed: {
      title: "This did not work",
      text: "Your answer did not count. If the device is connected to your account and should not be, remove its access there. If it is not and should be, start again on the device.",
    },
  },
  signOut: {
    question: "Sign out?",
    accessStays: "Applications that you allowed keep their access.",
    stay: "Stay signed in",
    /** For an application's request to sign out that cannot be verified. */
    badRequest: {
      title: "You are still signed in",
      text: "An app asked to sign you out, but we could not verify its request.",
      signOut: "Sign out here",
    },
    signedOut: {
      title: "You are signed out",
      text: "On a device that others use too, close the browser as well.",
      signIn: "Sign in again",
    },
  },
  account: {
    /** For the first operator, who has just opened the account. */
    consoleOffer: (host: string) => `You manage ${host}`,
    consoleOfferText: "Protect servers, connect applications and invite users in the console.",
    consoleOfferLink: "Open the console",
    passkeyOffer: "Sign in without your password next time",
    done: {
      joined: "Your account is ready. Open the link in the mail that we sent you to confirm your address.",
      revoked: "Access removed.",
      resent: "A new message is on its way to you.",
      named: "Your name has been saved.",
      addressSent: "Open the link that we sent to your new address. Until then you keep the current one.",
      address: "Your e-mail address has been changed.",
    },
    name: "Name",
    firstName: "First name",
    lastName: "Last name",
    saveName: "Save name",
    download: "Download your data (JSON)",
    changeEmail: "Change the address",
    confirmed: "Confirmed",
    notConfirmed: "Not confirmed",
    memberSince: "Member since",
    resend: "Send the confirmation mail again",
    applications: "Applications with access",
    noApplications: "No application has access to your account.",
    /** The link to those that were allowed before the ones shown. */
    earlier: "Earlier applications",
    allowedOn: "Allowed",
    lastUsedOn: "last used",
    remove: "Remove access",
    removeFrom: (name: string) => `Remove access from ${name}`,
  },
  address: {
    title: "Change your e-mail address",
    lead: (email: string) => `Your address is ${email}. We send a link to the new one, and a notice to the current one.`,
    /** For an address that is not confirmed, which gets no notice. */
    leadUnconfirmed: (email: string) => `Your address is ${email}. We send a link to the new one.`,
    email: "New e-mail address",
    submit: "Send the link",
    toAccount: "Keep the current address",
    confirm: {
      title: "Confirm your new address",
      lead: (former: string, email: string) =>
        `Your account changes from ${former} to ${email}. From then on you sign in with the new address.`,
      submit: "Change the address",
    },
    signInFirst: {
      title: "Sign in first",
      text: "Sign in to the account whose address changes. Then you can confirm the new one.",
    },
    stop: {
      title: "Keep your address",
      lead: (former: string, email: string) =>
        `Your account keeps the address ${former} and does not change to ${email}. Everything that is signed in gets signed out, and the password stops working: someone else may know it.`,
      submit: "Keep the address",
    },
    stopped: {
      title: "Your address stays",
      text: "Your account has its former address. Everything was signed out. Choose a new password now.",
    },
    /** Another account has the former address. */
    taken: {
      title: "Your address has another account",
      text: (host: string) =>
        `Nothing was changed. If the other account is yours too, sign in to it and delete it, then open this link again. If it is not, ask an administrator of ${host}.`,
    },
    stale: {
      text: "It was used already, was replaced by a newer one, or is too old. If it belongs to another account than the one that is signed in here, sign out and open it again.",
      /** Of the link to the former address, after which the password no longer works. */
      stop: "It was used already, is too old, or the change was stopped before. If you kept your address with it, choose a new password.",
    },
  },
  agents: {
    title: "Agents that act for you",
    done: {
      ended: "Access stopped. The agent can get new access if an app asks it again; pause it to prevent that.",
      paused: "The agent is paused. It cannot act for you until you resume it.",
      resumed: "The agent can act for you again.",
      stillPaused: "You have resumed the agent. The operators of this service still pause it for all users.",
    },
    /** For a form that was sent after the access had been swept, or the agent removed. */
    gone: "That access or agent is gone, so there is nothing to stop.",
    intro:
      "Programs that act for you because an app you allowed asked them to. Stopping and pausing take effect here at once, and everywhere within minutes. An agent that you signed in to yourself is among the applications under Profile.",
    none: "No agent is acting for you through an app. Agents appear here when an app you allowed hands them a task.",
    more: "There is more than is shown here. Stop all also stops what is not shown.",
    acts: "Acts for you",
    paused: "Paused",
    pausedAbove: "Waiting for a paused agent",
    /** About one delegation. */
    waits: "Does not work while the agent that passed it on is paused.",
    /** Before the day. */
    pausedByYou: "Paused by you",
    pausedByOperator: "Paused for all users by the operators of this service",
    holdsNothing: "No active access",
    lastActed: "Last active",
    onlyHandsOn: "Only passes work on",
    /** Before the application that the user allowed. */
    startedBy: "Started by",
    handedOnBy: "passed on by",
    mayHandOnTo: "Can pass work on to",
    since: "Since",
    until: "until",
    assertion: "A statement for another service about who you are. Stop the access that it gave there in that service.",
    end: "Stop this access",
    endAt: (agent: string, place: string) => `Stop this access of ${agent} to ${place}`,
    endAll: "Stop all",
    endAllOf: (agent: string) => `Stop all access of ${agent}`,
    pause: "Pause",
    pauseNamed: (agent: string) => `Pause ${agent}`,
    resume: "Resume",
    resumeNamed: (agent: string) => `Resume ${agent}`,
    hint: "Access of a paused agent works again when you resume it, unless it has expired. Access that you stop does not come back, but the agent can get new access.",
  },
  security: {
    done: {
      linked: "The account is connected. You can sign in with it from now on.",
      unlinked: "The account is disconnected. You can no longer sign in with it.",
      password: "Your password has been changed. Everything else that was signed in has been signed out.",
      session: "The session has been signed out.",
      others: "All other sessions have been signed out.",
      passkey: "The passkey has been added.",
      renamed: "The passkey has been renamed.",
      removed: "The passkey has been removed.",
      appRemoved: "Two-step sign-in has been turned off.",
    },
    passkeys: "Passkeys",
    passkeysText:
      "A passkey signs you in with your fingerprint, your face or the lock of your device. It cannot be guessed, and works on this site only.",
    noPasskeys: "You have no passkey yet.",
    passkeyName: "Name of the passkey",
    passkeyAddFailed: "No passkey was added. Try again, or use another device.",
    passkeyKnown: "This device has a passkey for your account already.",
    passkeyNeedsScripts: "Passkeys need a browser that runs scripts.",
    passkeyRename: "Rename",
    passkeyRemove: "Remove",
    passkeyRemoveOf: (name: string) => `Remove the passkey ${name}`,
    passkeyRenameOf: (name: string) => `Rename the passkey ${name}`,
    /** For a form that was sent after another tab had removed what it is about. */
    passkeyGone: "That passkey has been removed, so there is nothing to rename.",
    appGone: "Two-step sign-in is off, so there are no recovery codes to make.",
    passkeyMade: "Added",
    passkeyUsed: "Last used",
    passkeyUnused: "Not used yet",
    passkeySynced: "Synchronised",
    passkeyCopied: "A copy of this passkey was used, so we no longer accept it. Remove it.",
    passwordText: "A new password signs you out everywhere but here.",
    passwordKeep: "Keep the password as it is",
    identities: "Sign-in with other accounts",
    identitiesText: "Connect an account that you have elsewhere to sign in with it.",
    removedProvider: "A provider that this site no longer offers",
    linkedAt: "Connected",
    link: (title: string) => `Connect ${title}`,
    unlink: "Disconnect",
    unlinkOf: (title: string, email: string) => `Disconnect ${title} ${email}`,
    sessions: "Where you are signed in",
    sessionsText: "Sign out what you do not recognise or no longer use, and change your password if somebody else was signed in.",
    thisBrowser: "This device",
    /** Of a browser that does not identify itself. */
    unknownDevice: "Unknown program",
    device: (browser: string, system: string) => `${browser} on ${system}`,
    signedInAt: "Signed in",
    lastSeenAt: "Last seen",
    fromAddress: "From the address",
    signOutOf: (device: string, since: string) => `Sign out ${device}, signed in on ${since}`,
    signOutOthers: "Sign out all others",
    everywhere: "Sign out everywhere",
    everywhereText:
      "Ends every browser session and every application's lasting access to your account, this browser's included. What you allowed stays listed among your applications.",
    deleteText: "With your account, all access that you allowed ends. You see what happens before you confirm it.",
  },
  wallet: {
    linked: "Linked wallet",
    issuer: "Credential from",
    since: "Linked",
    unlink: "Unlink the wallet",
    unlinkText: "The credential in your wallet stays as it is. You can link a wallet again at any time.",
    begin: "Link a wallet",
    beginText:
      "You show a credential from the wallet on your phone. We keep its issuer and the one claim that identifies you, and nothing else.",
    /** Before the address of the account. */
    toAccount: "The wallet will be linked to the account",
    confirm: "Continue only if this is your account and you started this.",
    otherDevice: "Yes, the wallet is on another device",
    sameDevice: "Yes, the wallet is on this device",
    waitingOther: "Scan this code with your wallet",
    waitingOtherText: "Confirm in the wallet, then come back to this page.",
    waitingSame: "Open your wallet",
    waitingSameText: "Confirm in the wallet. It brings you back to this browser.",
    qrCode: "QR code with the request to your wallet",
    openWallet: "Open the wallet",
    goodUntil: "The request is valid until",
    looksByItself: "This page checks by itself whether your wallet has answered.",
    look: "Check now",
    startOver: "Start over",
    /** Why a link failed. */
    failed: {
      conflict: "This wallet is linked to another account. Nothing was changed.",
      expired: "The request has expired. Start again.",
      rejected: "The wallet's answer was not accepted. Nothing was linked.",
    },
    accountHasWallet: "Your account is linked to another wallet. Unlink that one first.",
    declined: "You declined in the wallet. Nothing was linked.",
    nowLinked: "Your wallet is linked.",
    done: { unlinked: "The wallet is no longer linked." },
  },
  deleteAccount: {
    what: "What happens",
    /** One sentence each. */
    consequences: [
      "You are signed out everywhere.",
      "Applications and agents lose their access, some at once, all within minutes.",
      "Your name, ways to sign in, sessions and everything that you allowed are deleted. The e-mail address can be used for a new account, which has no connection to this one.",
      "The audit log stays. It names the account by its number and the network addresses it was used from, but neither name nor e-mail address.",
      "This cannot be undone.",
    ],
    /** Before the names of the applications that the user registered. */
    clients: "These applications of yours are deleted with their API keys, and their users lose the access that they allowed:",
    confirm: "Delete the account",
    submit: "Delete my account",
    keep: "Keep the account",
    gone: {
      title: "Your account has been deleted",
      text: "We have sent a last message to your e-mail address.",
      signUp: "Create a new account",
    },
  },
  refusals: {
    /** By error code, for pages that only report the refusal. */
    pages: {
      forbidden: {
        title: "This form can no longer be used",
        text: "It has expired, or it did not come from this site. Nothing was changed. Go back, reload the page and try again. If this happens each time, allow this site to use cookies.",
      },
      not_found: { title: "Page not found", text: "This page does not exist, or what it showed has been removed." },
      too_many_requests: { title: "Too many attempts", text: "Wait a while before you try again." },
      expired_token: { title: "This code has expired", text: "Start again on your device, and enter the new code that it shows." },
      temporarily_unavailable: {
        title: "Not available right now",
        text: "The service cannot answer at the moment. Nothing was changed. Please try again in a few seconds.",
      },
      invalid_client: {
        title: "Unknown application",
        text: "There is no such application here, or it has been disabled. Contact its provider.",
      },
    },
    otherPage: { title: "This did not work", text: "The request was not complete. Go back and try again." },
    /** For an application's request that was answered, has expired, or was started in another browser. */
    requestOver: {
      title: "This link has expired",
      text: "Go back to the app and start again. Such a link works once, for a short time, and only in the browser in which you started.",
    },
    /** For an application's request that must not be answered by redirect. The error description follows below. */
    appRequest: {
      title: "This app's link does not work",
      text: "The app sent you here with a request that we cannot accept, so we did not send you back to it. Go to the app and report the details below.",
    },
    /** For developers of an application, below what its request named, by its parameter. */
    remedies: {
      client_id: "For its developers: Compare it with the client_id of your client. Each server has its own clients.",
      redirect_uri:
        "For its developers: Send a redirect URI of your client, character by character, or add this one, if its environment allows it.",
    },
    /** For an internal error. */
    fault: { title: "Something went wrong", text: "This is our fault, and we have logged it. Please try again later." },
    /** After a reason that passes by itself. */
    retryIn: (time: string) => `Try again in ${time}.`,
    /** Reasons that a user can act on. The three of a failed sign-in have the same text, so that they cannot be distinguished. */
    reasons: {
      account_disabled: "Wrong e-mail address or password.",
      account_unknown: "Wrong e-mail address or password.",
      password_wrong: "Wrong e-mail address or password.",
      sign_in_failures: "Too many failed attempts.",
      user_code_unknown: "That code is not right, was used already, or has expired. Check what your device shows.",
      user_code_failures: "Too many wrong codes.",
      rate_limit: "Too many requests.",
      email_taken: "There is already an account with this e-mail address.",
      invitation_of_other_address: "The invitation is for another e-mail address. Use the one to which it was sent.",
      /** After a passkey or another provider. */
      email_unverified: "Your e-mail address is not confirmed yet. Sign in with your password to ask for another link.",
      sign_up_domain: "Addresses of this domain cannot open an account here.",
      password_short: "Choose a password of at least 8 characters.",
      password_long: "Choose a password of at most 128 characters.",
      password_is_email: "Choose a password that is not your e-mail address.",
      password_common: "This password is too easy to guess.",
      agent_unknown: "This agent does not exist or has been removed.",
      delegation_unknown: "This access has already ended.",
      link_unknown: "This wallet link has expired. Start again on your wallet page.",
      address_unchanged: "This is the address of your account already.",
      first_code_wrong: "That code is not right. Wait for the next one, and check the clock of your device.",
      second_factor_wrong: "That code is not right. Wait for the next one, or use a recovery code.",
      second_factor_exists: "You have an authenticator app already.",
      vault_key_missing: "Authenticator apps cannot be set up on this server yet.",
      passkey_unknown: "We do not know this passkey. It may have been removed; use your password.",
      passkey_invalid: "The passkey was not accepted. Try again, or use your password.",
      passkey_malformed: "The passkey was not accepted. Try again, or use your password.",
      passkey_names_no_user: "The passkey was not accepted. Try again, or use your password.",
      passkey_of_another_user: "The passkey was not accepted. Try again, or use your password.",
      passkey_copied: "This passkey has been copied, so we do not accept it any more. We have sent you a mail.",
      passkey_challenge: "That took too long. Try again.",
      passkeys_unavailable: "Passkeys cannot be used at this address.",
      passkey_not_added: "This passkey is known already, or you have too many.",
      last_way_in: "This is your only way to sign in. Add another one first.",
      password_changed_since: "The password was changed in another place. Sign in with the new one.",
      last_operator: "You are the last operator. Make another user an operator first.",
      method_not_allowed: "This page does not support that request.",
      body_too_large: "The form is too large.",
      body_shape: "A field is missing or not valid. Go back and try again.",
    },
    otherReason: "This did not work. Check what you entered and try again.",
    /** By field that can be invalid. */
    fields: {
      email: "Enter an e-mail address, such as name@example.com.",
      password: "Enter a password of at most 128 characters.",
      firstName: "Use at most 100 characters for the first name. Invisible characters are not allowed.",
      lastName: "Use at most 100 characters for the last name. Invisible characters are not allowed.",
    },
    otherField: "This value is not valid.",
  },
  start: {
    title: "Sign-in service",
    lead: "Applications and agents get access here, once you have allowed it.",
    account: "Your account",
    forDevelopers: "For developers",
    reference: "API reference",
    oauth: "Authorization server metadata",
    openid: "OpenID Connect metadata",
    keys: "Public keys",
  },
  mails: {
    frame: {
      hello: "Hello,",
      copyLink: "If the button does not work, copy this link into your browser:",
      /** On the button of a mail that names nothing else there. */
      openSecurity: "Open security settings",
    },
    /** @param host of the service @param hours for which the link works */
    verification: (host: string, hours: number) => ({
      subject: "Confirm your e-mail address",
      lead: [`Someone signed up at ${host} with this e-mail address. If it was you, open this link to confirm the address:`],
      action: "Confirm this address",
      close: [
        `The link works once, within ${hours} hours.`,
        "If it was not you, do not open the link: someone else chose the password of this account. Without the link, the address stays unconfirmed.",
      ],
    }),
    /** @param title of the identity provider */
    identityLinked: (host: string, title: string) => ({
      subject: `${title} was connected to your account`,
      lead: [
        `An account at ${title} was just connected to your account at ${host}. Anyone who signs in to that account can sign in to yours.`,
        "If it was you, you do not need to do anything. If it was not, disconnect it and change your password now:",
      ],
      close: ["Check the security of your mailbox too: anyone who can read your mail can reset your password."],
    }),
    identityUnlinked: (host: string, title: string) => ({
      subject: `${title} was disconnected from your account`,
      lead: [
        `An account at ${title} was just disconnected from your account at ${host}. It can no longer be used to sign in to yours.`,
        "If it was not you, change your password now:",
      ],
      close: ["Check the security of your mailbox too: anyone who can read your mail can reset your password."],
    }),
    /** @param minutes for which the link works */
    reset: (host: string, minutes: number) => ({
      subject: "Choose a new password",
      lead: [`Someone asked for a new password for your account at ${host}. If it was you, open this link to choose one:`],
      action: "Choose a new password",
      close: [
        `The link works once, within ${minutes} minutes. Only the newest link works.`,
        "If it was not you, you do not need to do anything: your password stays the same.",
      ],
    }),
    passwordChanged: (host: string) => ({
      subject: "Your password was changed",
      lead: [
        `The password of your account at ${host} was just changed. Every browser and application that was signed in with the old password has been signed out.`,
        "If it was you, you do not need to do anything. If it was not, choose a new password now:",
      ],
      action: "I did not change it",
      close: ["Check the security of your mailbox too: anyone who can read your mail can reset your password."],
    }),
    secondFactorAdded: (host: string) => ({
      subject: "Two-step sign-in was turned on",
      lead: [
        `Two-step sign-in was just turned on for your account at ${host}, which now asks for a code from an authenticator app after the password.`,
        "If it was you, you do not need to do anything. If it was not, choose a new password now:",
      ],
      action: "It was not me",
      close: [`Then ask an administrator of ${host} to turn it off: the new password alone does not sign you in.`],
    }),
    test: (host: string) => ({
      subject: `Mails from ${host} arrive`,
      lead: [`An operator asked ${host} for this mail. Mails to users are sent in the same way.`],
    }),
    secondFactorRemoved: (host: string) => ({
      subject: "Two-step sign-in was turned off",
      lead: [
        `Two-step sign-in was just turned off for your account at ${host}, which no longer asks for a code from an authenticator app.`,
        "If you did not ask for this, choose a new password and turn it on again:",
      ],
    }),
    recoveryCodeUsed: (host: string) => ({
      subject: "A recovery code was used",
      lead: [
        `Somebody signed in to your account at ${host} with one of your recovery codes.`,
        "If it was not you, choose a new password and make new recovery codes:",
      ],
    }),
    passkeyAdded: (host: string) => ({
      subject: "A passkey was added to your account",
      lead: [
        `A passkey was just added to your account at ${host}. Anyone who has it can sign in without your password.`,
        "If it was you, you do not need to do anything. If it was not, remove the passkey and choose a new password:",
      ],
    }),
    passkeyRemoved: (host: string) => ({
      subject: "A passkey was removed from your account",
      lead: [
        `A passkey was just removed from your account at ${host}. It can no longer be used to sign in.`,
        "If it was not you, check who is signed in and choose a new password:",
      ],
    }),
    passkeyCopied: (host: string) => ({
      subject: "We refused a sign-in with a copy of your passkey",
      lead: [
        `Somebody tried to sign in to your account at ${host} with a passkey whose use count went backwards. That happens when a security key has been copied, and we refused it.`,
        "Remove this passkey, and make a new one on a device that you trust:",
      ],
    }),
    /** @param period for which the link works */
    invitation: (host: string, period: string) => ({
      subject: `You are invited to ${host}`,
      lead: [
        `An administrator of ${host} has invited you to open an account with this e-mail address. Open this link to choose a password:`,
      ],
      action: "Open the account",
      close: [
        `The link works once, for ${period}. Only the newest link works.`,
        "If you do not expect this invitation, you do not need to do anything: without the link there is no account.",
      ],
    }),
    /** @param period for which the link works */
    addressProof: (host: string, period: string) => ({
      subject: "Confirm your new e-mail address",
      lead: [
        `Someone wants to use this e-mail address for their account at ${host}. If it was you, open this link in the browser where you are signed in:`,
      ],
      action: "Confirm this address",
      close: [
        `The link works once, for ${period}, and only for the account that asked for it.`,
        "If it was not you, you do not need to do anything: the account keeps its current address.",
      ],
    }),
    /** @param email the new address @param period for which the link works */
    addressChange: (host: string, email: string, period: string) => ({
      subject: "Your e-mail address is about to change",
      lead: [
        `Someone who is signed in to your account at ${host} wants to change its e-mail address to ${email}. The change takes effect once a link that we sent there is opened.`,
        "If it was you, you do not need to do anything. If it was not, keep this address:",
      ],
      action: "It was not me",
      close: [
        `The link works once, for ${period}, also after the change. It signs out everything, and you choose a new password.`,
        "Keep this message until then.",
      ],
    }),
    addressChanged: (host: string, email: string) => ({
      subject: "Your e-mail address was changed",
      lead: [
        `Your account at ${host} now has the e-mail address ${email}. Sign in with it from now on.`,
        "If it was not you, use the link in the message that we sent you before: it gives you this address back.",
      ],
      close: ["This is the last message to this address about the account."],
    }),
    accountRemoved: (host: string) => ({
      subject: "Your account was deleted",
      lead: [`An administrator of ${host} has deleted your account there. This is the last message to this address.`],
      close: [`If you think that this is a mistake, ask an administrator of ${host}.`],
    }),
    accountClosed: (host: string) => ({
      subject: "Your account was deleted",
      lead: [`Your account at ${host} was deleted on its account page. This is the last message to this address.`],
      close: ["If it was not you, someone else could sign in to it. Change its password wherever else you use the same one."],
    }),
  },
  /** The built-in scopes, which operators can describe in other words. */
  builtInScopes: {
    openid: { title: "Know who you are", detail: "Recognise you when you come back. Your password is never shared." },
    profile: { title: "See your name", detail: "Your first and last name, if you gave them." },
    email: { title: "See your e-mail address", detail: "The address, and whether it is confirmed." },
    offline_access: { title: "Keep access while you are away", detail: "Stay connected until you remove the access." },
    "clients:manage": { title: "Manage your applications", detail: "Create, change and delete the applications that you develop." },
    "server:manage": {
      title: "Manage this server as you",
      detail: "Everything that your role here allows: your applications and, for operators, clients, users and the audit log.",
    },
    "agent:readonly": { title: "Let an AI agent read for you", detail: "An agent may look things up, but change nothing." },
    "agent:admin": { title: "Let an AI agent change things for you", detail: "An agent may change settings and data in your name." },
    "agent:exec": { title: "Let an AI agent act for you", detail: "An agent may carry out actions in your name." },
  },
  accountNav: {
    console: "Console",
    sections: {
      profile: "Profile",
      agents: "Agents",
      security: "Security",
      wallet: "Wallet",
      deleteAccount: "Delete account",
    },
  },
};

export type Texts = typeof en;
